import SheafSync
import SheafTestSupport

/// A simulated mesh of link-state databases with delayed, ordered messages.
///
/// Messages in flight are lost when their connection closes.
struct PresenceScene {
    private struct PeerEvent {
        let time: UInt64
        let order: Int
        let wire: UInt64
        let end: Int
        let content: Content
    }

    private enum Content {
        case send(PresenceMessage)
        case acknowledged
        case opened, closed
    }

    private struct Wire {
        let ends: [Int]
        var isOpen = true
        var last: [UInt64] = [0, 0]
    }

    var random: SeededRandom
    var databases: [LinkStateDatabase] = []
    private(set) var now: UInt64 = 0
    private var wires: [UInt64: Wire] = [:]
    private var letters: [PeerEvent] = []
    private var count = 0
    /// The number of presence messages sent, and the number of records in them.
    private(set) var messages = 0
    private(set) var records = 0
    /// Reported key conflicts: when, by which peer, and the record of the conflicting peer.
    private(set) var contested: [(time: UInt64, index: Int, rival: PeerRecord)] = []

    init(_ number: Int, _ random: SeededRandom) {
        self.random = random
        for index in 0..<number { add(index, opening: 1_000) }
    }

    static func key(_ index: Int) -> [UInt8] {
        [UInt8(index >> 8), UInt8(index & 255)] + Array(repeating: 7, count: 30)
    }

    private mutating func add(_ index: Int, opening: UInt64) {
        databases.append(
            LinkStateDatabase(
                Self.key(index), PeerRecord.Description(name: "peer \(index)"), opening: opening,
                salt: random.next()))
    }

    /// Reopens a peer with an empty database; `opening` is the time on its clock.
    mutating func reopen(_ index: Int, opening: UInt64) {
        for wire in wires.keys.sorted() where wires[wire]?.ends.contains(index) == true {
            cut(wire)
            forget(wire, at: index)
        }
        databases[index] = LinkStateDatabase(
            Self.key(index), PeerRecord.Description(name: "peer \(index) anew"), opening: opening,
            salt: random.next())
    }

    private mutating func forget(_ wire: UInt64, at index: Int) {
        guard let end = wires[wire]?.ends.firstIndex(of: index) else { return }
        letters.removeAll { $0.wire == wire && $0.end == end }
    }

    // MARK: Connections

    var pairs: Set<[Int]> {
        Set(wires.values.filter(\.isOpen).map { $0.ends.sorted() })
    }

    mutating func connect(_ one: Int, _ other: Int) {
        guard one != other, !pairs.contains([one, other].sorted()) else { return }
        count += 1
        let number = UInt64(count)
        wires[number] = Wire(ends: [one, other], last: [now, now])
        for end in 0...1 { post(.opened, number, to: end) }
    }

    mutating func disconnect(_ pair: [Int]) {
        let wire = wires.filter { $0.value.isOpen && $0.value.ends.sorted() == pair }.keys.min()
        if let wire { cut(wire) }
    }

    private mutating func cut(_ wire: UInt64) {
        guard wires[wire]?.isOpen == true else { return }
        wires[wire]?.isOpen = false
        for end in 0...1 { post(.closed, wire, to: end) }
    }

    private mutating func post(_ content: Content, _ wire: UInt64, to end: Int) {
        let time = max(
            (wires[wire]?.last[end] ?? 0) + 1, now + UInt64(1 + random.below(50)) * 1_000_000)
        wires[wire]?.last[end] = time
        count += 1
        letters.append(PeerEvent(time: time, order: count, wire: wire, end: end, content: content))
    }

    // MARK: Time

    /// Runs all deliveries and timers due until `end`.
    mutating func run(until end: UInt64) {
        for index in databases.indices { perform(index) }
        while true {
            let next = letters.min { ($0.time, $0.order) < ($1.time, $1.order) }
            let due = databases.indices.compactMap { index in
                databases[index].deadline.map { (time: max($0, now), index: index) }
            }.min { $0.time < $1.time }
            if let due, due.time <= min(next?.time ?? .max, end) {
                now = due.time
                databases[due.index].tick(at: now)
                perform(due.index)
            } else if let next, next.time <= end {
                now = next.time
                letters.removeAll { $0.order == next.order }
                deliver(next)
            } else {
                break
            }
        }
        now = end
    }

    private mutating func deliver(_ letter: PeerEvent) {
        guard let wire = wires[letter.wire] else { return }
        let index = wire.ends[letter.end]
        switch letter.content {
        case .opened:
            let other = wire.ends[1 - letter.end]
            databases[index].opened(letter.wire, to: databases[other].key, kind: 1, at: now)
        case .closed: databases[index].closed(letter.wire, at: now)
        case .acknowledged where wire.isOpen: databases[index].acknowledged(on: letter.wire)
        case .send(let message) where wire.isOpen:
            databases[index].receive(message, on: letter.wire, at: now)
        case .send, .acknowledged: break
        }
        perform(index)
    }

    mutating func perform(_ index: Int) {
        for action in databases[index].drainActions(at: now) {
            switch action {
            case .send(let number, let message):
                messages += 1
                records += message.records.count
                send(.send(message), on: number, from: index)
            case .acknowledged(let number): send(.acknowledged, on: number, from: index)
            case .changed: break
            case .contested(let conflict): contested.append((now, index, conflict))
            }
        }
    }

    private mutating func send(_ content: Content, on number: UInt64, from index: Int) {
        guard let wire = wires[number], wire.isOpen else { return }
        post(content, number, to: wire.ends[0] == index ? 1 : 0)
    }

    // MARK: Invariants

    /// Returns the peers reachable over open connections.
    func component(of index: Int) -> Set<Int> {
        var found: Set<Int> = [index]
        var rest = [index]
        while let near = rest.popLast() {
            for pair in pairs where pair.contains(near) {
                let other = pair[0] == near ? pair[1] : pair[0]
                if found.insert(other).inserted { rest.append(other) }
            }
        }
        return found
    }

    /// Describes the first deviation of a peer's database from the actual mesh, or returns nil.
    func violation(of index: Int) -> String? {
        if let wrong = databases[index].violation { return "peer \(index): \(wrong)" }
        let component = component(of: index)
        let known = databases[index].reachable
        guard Set(known.map(\.key)) == Set(component.map(Self.key)) else {
            return "peer \(index) reaches \(known.map { $0.description.name }), not \(component)"
        }
        for record in known {
            let about = component.first { Self.key($0) == record.key } ?? index
            if record != databases[about].own {
                return "peer \(index) has an old record of \(about)"
            }
            let neighbors = pairs.filter { $0.contains(about) }
                .map { Self.key($0[0] == about ? $0[1] : $0[0]) }
            if Set(neighbors) != Set(record.neighbors.map(\.key)) {
                return "peer \(index) knows other connections of \(about)"
            }
        }
        return nil
    }
}
