import SheafDocument
import SheafEngine
import SheafReplication
import SheafStorage
import SheafSync
import SheafTestSupport
import SheafTransport

/// Two simulations that differ only in documents that one peer may not read.
///
/// Every frame that this peer receives must be equal in both.
///
/// Peer 0 serves peer 1, which may read and write red cars, and sometimes may write green ones
/// without reading them; peer 2 has all rights and sends documents to peer 0. The second simulation
/// also has blue and green cars, and boats, which are written and deleted, and were never red. In
/// some runs peer 1 does not know its rights, and sends forbidden writes.
package final class PairedSimulations {
    package struct Difference: Error, CustomStringConvertible {
        package let description: String
    }

    /// Counts of a run.
    package struct Report: Sendable {
        package var actions = 0
        package var frames = 0
        package var hiddenCommits = 0
        package var attempts = 0

        package init() {}

        package mutating func add(_ other: Report) {
            actions += other.actions
            frames += other.frames
            hiddenCommits += other.hiddenCommits
            attempts += other.attempts
        }
    }

    private let simulations: [PairedSimulation]
    private var random: SeededRandom
    private var subscriptions: RandomSubscription
    private var wireCount: UInt64 = 0
    private let rights: PeerRights
    private let knowsItsRights: Bool
    private let writesGreen: Bool
    private var passing = 0
    /// The frames that were equal, for the description of those that differ.
    private var earlier: [[[UInt8]]] = [[], []]
    private var log: [String] = []
    package private(set) var report = Report()

    package init(seed: UInt64) throws {
        random = SeededRandom(seed: seed, "two worlds")
        subscriptions = RandomSubscription(random: SeededRandom(seed: seed, "subscriptions"))
        subscriptions.rankedInTen = random.below(5)
        simulations = [
            try PairedSimulation(3, observing: 1), try PairedSimulation(3, observing: 1),
        ]
        var write = ["cars": "color = 'red'"]
        if random.chance(1, in: 4) { write["cars"] = "color = 'red' AND n < 80" }
        writesGreen = random.chance(1, in: 2)
        if writesGreen { write["cars"] = "color IN ('red', 'green')" }
        knowsItsRights = random.chance(1, in: 2)
        var read = ["cars": "color = 'red'"]
        if random.chance(1, in: 4) { read["notes"] = "true" }
        rights = PeerRights(read: read, write: write)
    }

    package func run(actions: Int) throws {
        let named = ["SELECT * FROM cars", "SELECT * FROM boats", "SELECT * FROM notes"]
        let all = random.chance(1, in: 2) ? ["*"] : named
        for simulation in simulations {
            for number in [0, 2] {
                try simulation.nodes[number].replicator.subscribe(
                    simulation.nodes[number].subscriptions(all))
            }
        }
        // These hidden documents are never deleted; the peer tries their ids later.
        try hide("hidden cars that stay", on: 0) { _ in
            (0..<4).map {
                Self.insert("k\($0)", ["color": "blue", "pin": 4_711, "word": "secret"])
            }
        }
        // Some cars are green and some are deleted; the peer tries their ids later.
        try hide("green cars", on: 0) { _ in
            (0..<4).map { Self.insert("g\($0)", ["color": "green", "n": 5, "pin": 4_711]) }
        }
        try hide("cars to delete", on: 0) { _ in
            (0..<4).map { Self.insert("t\($0)", ["color": "blue", "n": 5, "word": "secret"]) }
        }
        try hide("deletions", on: 0) { _ in
            (0..<4).map { DocumentChange("cars", .string("t\($0)"), .delete) }
        }
        try connect(0, 2, rights: nil)
        try connect(0, 1, rights: rights)
        for _ in 0..<actions {
            report.actions += 1
            // Each action has its own millisecond: stamps count the writes within one.
            let pause = UInt64(20 + random.below(3) * 400)
            try each { try $0.advance(milliseconds: pause) }
            try settle()
            try act()
            try settle()
        }
        for _ in 0..<20 {
            try each { try $0.advance(milliseconds: 2_000) }
            try settle()
        }
    }

    // MARK: Both simulations

    private func each(_ body: (PairedSimulation) throws -> Void) throws {
        for simulation in simulations { try body(simulation) }
    }

    /// Runs both simulations until they have no work, and compares the frames that the peer has
    /// received.
    private func settle() throws {
        try each { try $0.run() }
        let frames = simulations.map { $0.takeReceived() }
        report.frames += frames[0].count
        guard let index = Self.difference(frames[0], frames[1]) else {
            for number in frames.indices { earlier[number] += frames[number] }
            return
        }
        let descriptions = frames.indices.map { number -> [String] in
            // Names and compressed bytes depend on the frames before them.
            var describer = FrameDescriber()
            for frame in earlier[number] { _ = describer.describe(frame) }
            return frames[number].flatMap { describer.describe($0) }
        }
        throw Difference(
            description:
                "frame \(index) differs after \(log.suffix(6)): without hidden documents "
                + "\(descriptions[0]), with them \(descriptions[1])")
    }

    /// Returns the index of the first frame that differs, or nil.
    ///
    /// Acknowledgments are compared separately, because their position depends on other writes to
    /// the disk. The checksum of a frame is not compared, because it depends on the frames before
    /// it.
    static func difference(_ left: [[UInt8]], _ right: [[UInt8]]) -> Int? {
        for isAcknowledgement in [false, true] {
            let (left, right) = (
                bodies(left, isAcknowledgement), bodies(right, isAcknowledgement)
            )
            for index in 0..<max(left.count, right.count) {
                guard index < left.count, index < right.count, left[index] == right[index] else {
                    return index
                }
            }
        }
        return nil
    }

    private static func bodies(_ frames: [[UInt8]], _ acknowledgements: Bool) -> [[UInt8]] {
        frames.filter { frame in
            let isOne = frame.count > 8 && frame[8] == FrameType.acknowledge.rawValue
            return isOne == acknowledgements
        }
        .map { Array($0.prefix(4) + $0.dropFirst(8)) }
    }

    private func connect(_ left: Int, _ right: Int, rights: PeerRights?) throws {
        wireCount += 1
        try each {
            try $0.connect(
                wireCount, left, right, rightsOfRight: rights, sendsRights: knowsItsRights)
        }
        try settle()
    }

    private func commit(_ what: String, on number: Int, _ changes: [DocumentChange]) throws {
        log.append("\(what) on \(number): \(changes.map { "\($0.id.json)" })")
        try each { simulation in
            try simulation.nodes[number].commit(changes)
            try simulation.perform(number)
        }
    }

    /// Commits changes in the second simulation only.
    private func hide(
        _ what: String, on number: Int, _ changes: (inout SeededRandom) -> [DocumentChange]
    ) throws {
        var drawn = random
        let found = changes(&drawn)
        random = drawn
        log.append("\(what), hidden, on \(number): \(found.map { $0.id.json })")
        report.hiddenCommits += 1
        try simulations[1].nodes[number].commit(found)
        try simulations[1].perform(number)
    }

    // MARK: Actions

    private func act() throws {
        switch random.below(30) {
        case 0..<7: try writeVisible()
        case 7..<16: try writeHidden()
        case 16..<20: try writeAsPeer()
        case 20..<23: try tryHidden()
        case 23: try nameHidden()
        case 24: try reconnect(1)
        case 25: try reconnect(2)
        case 26..<28: try resubscribe()
        case 28: try evict()
        default:
            try each { simulation in
                for node in simulation.nodes {
                    node.store.compactEverything()
                    while try node.store.compactionStep() {}
                }
            }
        }
    }

    static func insert(_ id: String, _ car: Object, in collection: String = "cars")
        -> DocumentChange
    {
        DocumentChange(collection, .string(id), .insert(car, onConflict: .merge))
    }

    private func car(_ color: Value) -> Object {
        [
            "color": color, "n": .integer(Int64(random.below(100))),
            "word": .string(["open", "secret", "word"][random.below(3)]),
        ]
    }

    private func writeVisible() throws {
        let node = random.chance(1, in: 2) ? 0 : 2
        var changes: [DocumentChange] = []
        var ids: Set<String> = []
        for _ in 0...random.below(4) {
            let name = "v\(random.below(8))"
            guard ids.insert(name).inserted else { continue }
            let id = Value.string(name)
            switch random.below(8) {
            case 0: changes.append(DocumentChange("cars", id, .delete))
            case 1:
                changes.append(
                    DocumentChange(
                        "cars", id,
                        .edit([
                            .set(path: ["extra\(random.below(6))"], to: .integer(1))
                        ])))
            case 2:
                // The document may become readable or unreadable.
                let color: Value = random.chance(1, in: 2) ? "blue" : "red"
                changes.append(
                    DocumentChange("cars", id, .edit([.set(path: ["color"], to: color)])))
            default: changes.append(Self.insert(name, car("red")))
            }
        }
        if random.chance(1, in: 6) {
            changes.append(Self.insert("n\(random.below(3))", ["text": "x"], in: "notes"))
        }
        try commit("visible", on: node, changes)
    }

    private func writeHidden() throws {
        let node = random.chance(1, in: 2) ? 0 : 2
        if random.chance(1, in: 6) { return try evictHidden() }
        try hide("write", on: node) { random in
            var changes: [DocumentChange] = []
            for number in 0..<(random.chance(1, in: 5) ? 12 : 1 + random.below(3)) {
                let id = Value.string("h\(number)")
                switch random.below(8) {
                case 0, 1: changes.append(DocumentChange("cars", id, .delete))
                case 3:
                    changes.append(
                        Self.insert(
                            "b\(number)", ["extra\(random.below(6))": 1, "word": "boat"],
                            in: random.chance(1, in: 2) ? "boats" : "ferries"))
                case 5 where number < 4:
                    let edit: DocumentChange.Action =
                        random.chance(1, in: 4)
                        ? .delete : .edit([.set(path: ["pin"], to: .integer(7))])
                    changes.append(DocumentChange("cars", .string("g\(number)"), edit))
                case 4 where number < 4:
                    changes.append(
                        DocumentChange(
                            "cars", .string("k\(number)"),
                            .edit([.set(path: ["pin"], to: .integer(Int64(random.below(9_999))))])))
                default:
                    changes.append(
                        Self.insert(
                            "h\(number)",
                            [
                                "color": "blue", "n": .integer(Int64(random.below(100)) - 50),
                                "pin": .integer(Int64(random.below(9_999))), "word": "secret",
                                "extra\(random.below(6))": 1,
                            ]))
                }
            }
            return changes
        }
    }

    /// Writes a hidden document on peer 0 or 2; the other one evicts it, and receives it again.
    ///
    /// A store that receives a lost write of its own draws another site, which the frames reveal.
    private func evictHidden() throws {
        let (writer, other) = random.chance(1, in: 2) ? (0, 2) : (2, 0)
        let name = "x\(passing)"
        passing += 1
        try hide("passing", on: writer) { _ in [Self.insert(name, ["color": "blue", "n": 1])] }
        try settle()
        try hide("eviction", on: other) { _ in [DocumentChange("cars", .string(name), .evict)] }
    }

    /// Writes as the peer under its own ids or readable ones; some writes are forbidden.
    private func writeAsPeer() throws {
        let name = random.chance(1, in: 3) ? "v\(random.below(8))" : "p\(random.below(6))"
        let change: DocumentChange
        switch random.below(6) {
        case 0: change = DocumentChange("cars", .string(name), .delete)
        case 1:
            change = DocumentChange(
                "cars", .string(name),
                .edit([.set(path: ["n"], to: .integer(Int64(random.below(100))))]))
        case 2 where writesGreen && name.hasPrefix("p"):
            change = DocumentChange(
                "cars", .string(name), .edit([.set(path: ["color"], to: "green")]))
        default: change = Self.insert(name, car(random.chance(1, in: 12) ? "green" : "red"))
        }
        try commit("peer", on: 1, [change])
    }

    /// Writes as the peer under ids whose documents are hidden from it.
    private func tryHidden() throws {
        report.attempts += 1
        // A red document under one of the other ids would be readable to the peer, with the writes
        // of other peers.
        let isRed = random.chance(1, in: 3)
        let name = (isRed ? "k" : random.chance(1, in: 2) ? "g" : "t") + "\(random.below(4))"
        let change: DocumentChange
        switch random.below(5) {
        case 0: change = DocumentChange("cars", .string(name), .delete)
        case 1:
            change = DocumentChange(
                "cars", .string(name),
                .edit([.set(path: ["n"], to: .integer(Int64(random.below(100))))]))
        default:
            let color: Value = isRed ? "red" : random.chance(1, in: 4) ? "none" : "green"
            change = Self.insert(name, car(color))
        }
        try commit("attempt", on: 1, [change])
    }

    /// Inserts forbidden documents of the peer under hidden ids, which it lists when reconciling.
    private func nameHidden() throws {
        report.attempts += 1
        let changes = (0..<12).map { Self.insert("h\($0)", ["color": "none", "n": 5]) }
        try commit("names", on: 1, changes)
        try reconnect(1)
    }

    private func reconnect(_ number: Int) throws {
        log.append("reconnects \(number)")
        try each { simulation in
            if let wire = simulation.wire(between: 0, number) { try simulation.disconnect(wire) }
        }
        try settle()
        try connect(0, number, rights: number == 1 ? rights : nil)
    }

    private func resubscribe() throws {
        var texts = (0...random.below(3)).map { _ in subscriptions.text() }
        if random.chance(1, in: 6) { texts.append("*") }
        log.append("subscribes to \(texts)")
        try each { simulation in
            let node = simulation.nodes[1]
            guard let queries = try? node.subscriptions(texts) else { return }
            node.replicator.subscribe(queries)
            try simulation.perform(1)
        }
    }

    /// Evicts a document of the peer on the server, or, with a readable one, on the peer.
    private func evict() throws {
        let isServer = random.chance(1, in: 2)
        var ids = ["p\(random.below(6))"]
        // A store that receives its own lost write draws another site, which depends on its clock.
        if !isServer { ids.append("v\(random.below(8))") }
        try commit(
            "evicts", on: isServer ? 0 : 1,
            ids.map { DocumentChange("cars", .string($0), .evict) })
    }
}
