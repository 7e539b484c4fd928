import Sheaf
import SheafBytes
import SheafDocument
import SheafStorage
import SheafSync
import SheafTestSupport

/// Some peers on simulated disks and a simulated network, from one seed: they write, crash, lose their
/// connections, and have to agree once it is quiet.
package final class MeshSimulation {
    /// What was wrong.
    package struct Violation: Error, CustomStringConvertible {
        package let description: String
    }

    /// How much was done.
    package struct Report: Sendable {
        package var virtualSeconds: UInt64 = 0
        package var commits = 0
        package var crashes = 0
        package var connections = 0
        package var frames = 0
        package var bytes = 0
        package var events = 0
        package var files = 0
        package var fetches = 0

        package init() {}
    }

    static let second: UInt64 = 1_000_000_000
    let seed: UInt64
    var random: SeededRandom
    var network: SeededRandom
    var agenda = MeshAgenda()
    private(set) var now: UInt64 = 0
    var peers: [MeshPeer] = []
    var wires: [UInt64: MeshWire] = [:]
    private var wireCount: UInt64 = 0
    private var jobs: [Int: WriteJob] = [:]
    private var jobCount = 0
    /// Who can be connected with whom.
    private(set) var pairs: [(Int, Int)] = []
    /// Pairs that cannot reach each other for now, and until when.
    var partitions: [Int: UInt64] = [:]
    /// Whether peers still write, crash, and lose connections.
    private(set) var isUnruly = true
    /// Backups of disks.
    var backups: [Int: SimulatedVolume] = [:]
    var transactions: [Int: Int64] = [:]
    /// Those whose disk was put back to an older state.
    var restored: Set<Int> = []
    /// What is done with files, drawn by itself; none where nobody has any.
    var fileRandom: SeededRandom?
    /// All files that were added, and where.
    var files: [AttachmentID] = []
    package internal(set) var report = Report()
    /// The document of `cars` whose changes are told, and by whom.
    package var watched: String?
    package var tell: (String) -> Void = { _ in }
    private var lastSeen: [Int: String] = [:]

    /// The mesh of a seed, with files or without.
    package init(seed: UInt64, sharesFiles: Bool = false) throws {
        if sharesFiles { fileRandom = SeededRandom(seed: seed, "files") }
        self.seed = seed
        random = SeededRandom(seed: seed, "mesh")
        network = SeededRandom(seed: seed, "network")
        let count = 2 + random.below(random.chance(1, in: 3) ? 8 : 3)
        for number in 0..<count {
            // The clocks of most devices are right, more or less.
            let skew = random.chance(1, in: 4) ? random.below(240_000) : random.below(500)
            let peer = try MeshPeer(
                number, seed: seed &* 31 &+ UInt64(number), skewMilliseconds: skew)
            peers.append(peer)
        }
        drawPairs(count)
    }

    /// A tree, so that everybody can be reached, and some more.
    private func drawPairs(_ count: Int) {
        for number in 1..<count { pairs.append((random.below(number), number)) }
        for left in 0..<count {
            for right in left + 1..<max(count, left + 1) where random.chance(1, in: 4) {
                if !pairs.contains(where: { $0 == (left, right) }) { pairs.append((left, right)) }
            }
        }
    }

    /// Lives through the unruly time, and then waits for silence.
    package func run() throws {
        do {
            try live()
        } catch {
            throw Violation(
                description: "\(error)\nat \(now / 1_000_000) ms of seed \(seed), "
                    + "\(peers.count) peers, pairs \(pairs)")
        }
        report.virtualSeconds = now / Self.second
    }

    private func live() throws {
        for peer in peers {
            try peer.subscribe(drawSubscriptions())
            agenda.add(.act(peer: peer.number), at: delay(2_000))
            agenda.add(.tick(peer: peer.number), at: Self.second)
            if fileRandom != nil { agenda.add(.file(peer: peer.number), at: Self.second) }
        }
        for (left, right) in pairs { agenda.add(.connect(left, right), at: delay(3_000)) }
        try run(until: Self.second * UInt64(60 + random.below(240)))
        isUnruly = false
        try fetchMissing()
        partitions = [:]
        let everything = ["SELECT * FROM cars", "SELECT * FROM groups"]
        for peer in peers {
            try peer.subscribe(everything)
            try perform(peer)
        }
        try run(until: now + 60 * Self.second)
        try checkAgreement(everything)
        // What one of them takes away comes back, for it is wanted.
        try evict(peers[random.below(peers.count)])
        try run(until: now + 60 * Self.second)
        try checkAgreement(everything)
        try checkFiles()
        let data = report.frames
        try run(until: now + 60 * Self.second)
        guard report.frames == data else {
            throw Violation(description: "\(report.frames - data) frames of data in silence")
        }
        try checkAgreement(everything)
        try checkPresence()
    }

    func drawSubscriptions() -> [String] {
        // Groups are always wanted as a whole: what is written of one at a time is seen at a time.
        let cars = [
            "SELECT * FROM cars", "SELECT * FROM cars WHERE color = 'red'",
            "SELECT * FROM cars WHERE n > 50", "SELECT * FROM cars WHERE color = 'blue' OR n < 20",
        ]
        var texts = ["SELECT * FROM groups"]
        for _ in 0..<random.below(3) { texts.append(cars[random.below(cars.count)]) }
        return texts
    }

    func delay(_ milliseconds: Int) -> UInt64 {
        now + UInt64(random.below(milliseconds * 1_000) + 1) * 1_000
    }

    // MARK: Events

    private func run(until end: UInt64) throws {
        while let time = agenda.nextTime, time <= end, let event = agenda.next() {
            advance(to: event.time)
            report.events += 1
            try take(event.kind)
            if watched != nil { try tellOfWatched(event.kind) }
        }
        advance(to: end)
    }

    private func tellOfWatched(_ kind: MeshEvent.Kind) throws {
        guard let watched else { return }
        switch kind {
        case .tick, .arrive: break
        default: tell("\(now / 1_000_000) ms: \(kind)".prefix(160).description)
        }
        for peer in peers {
            let seen = try peer.description(ofCar: watched)
            guard seen != lastSeen[peer.number] else { continue }
            lastSeen[peer.number] = seen
            tell("\(now / 1_000_000) ms, peer \(peer.number): \(seen), wants \(peer.subscriptions)")
        }
    }

    private func advance(to time: UInt64) {
        let milliseconds = time / 1_000_000 - now / 1_000_000
        if milliseconds > 0 { for peer in peers { peer.clock.advance(milliseconds: milliseconds) } }
        now = time
    }

    private func take(_ kind: MeshEvent.Kind) throws {
        switch kind {
        case .arrive(let number, let end, let bytes):
            guard let wire = wires[number], wire.isOpen else { return }
            let peer = peers[wire.ends[end]]
            guard peer.life == wire.lives[end] else { return }
            bytes.withUnsafeBytes { peer.host.receive($0, on: number, at: now) }
            try perform(peer)
        case .broken(let number, let end):
            guard let wire = wires[number] else { return }
            let peer = peers[wire.ends[end]]
            if peer.life == wire.lives[end] {
                peer.host.disconnect(number)
                try perform(peer)
            }
            if end == 1 {
                wires[number] = nil
                agenda.add(.connect(wire.ends[0], wire.ends[1]), at: delay(2_000))
            }
        case .connect(let left, let right): try connect(left, right)
        case .flush(let number, let life):
            let peer = peers[number]
            guard peer.life == life else { return }
            peer.isFlushing = false
            try peer.store.flush()
            peer.host.notePublished()
            if random.chance(1, in: 3) { try checkGroups(of: peer) }
            try perform(peer)
        case .write(let number, let life, let job):
            let peer = peers[number]
            guard let job = jobs.removeValue(forKey: job), peer.life == life else { return }
            let outcome = peer.run(job)
            flushSoon(peer)
            peer.host.noteWritten(outcome)
            try perform(peer)
        case .act(let number):
            guard isUnruly else { return }
            try act(peers[number])
            agenda.add(.act(peer: number), at: delay(random.chance(1, in: 4) ? 200 : 6_000))
        case .file(let number):
            guard isUnruly else { return }
            try actOnFiles(peers[number])
        case .serve(let number, let life):
            let peer = peers[number]
            peer.isServing = false
            guard peer.life == life else { return }
            peer.host.tick(at: now)
            try perform(peer)
        case .tick(let number):
            peers[number].host.tick(at: now)
            try perform(peers[number])
            agenda.add(.tick(peer: number), at: now + Self.second)
        }
    }

    /// Makes what was written durable, some time soon.
    func flushSoon(_ peer: MeshPeer) {
        guard !peer.isFlushing else { return }
        peer.isFlushing = true
        // Disks are slow now and then.
        let time = delay(random.chance(1, in: 12) ? 2_000 : 20)
        agenda.add(.flush(peer: peer.number, life: peer.life), at: time)
    }

    // MARK: The network

    private func connect(_ left: Int, _ right: Int) throws {
        let pair = pairs.firstIndex { $0 == (left, right) } ?? 0
        if let end = partitions[pair], end > now {
            return agenda.add(.connect(left, right), at: end + 1)
        }
        partitions[pair] = nil
        guard !wires.values.contains(where: { $0.ends == [left, right] && $0.isOpen }) else {
            return
        }
        wireCount += 1
        report.connections += 1
        let ends = [left, right]
        wires[wireCount] = MeshWire(wireCount, ends, ends.map { peers[$0].life })
        for end in ends {
            peers[end].host.connect(
                wireCount, expecting: peers[left + right - end].key, at: now)
            try perform(peers[end])
        }
    }

    /// Does what a host wants done.
    func perform(_ peer: MeshPeer) throws {
        for effect in peer.host.takeEffects() {
            switch effect {
            case .send(let number, let bytes):
                guard let wire = wires[number], wire.isOpen else { continue }
                note(bytes)
                send(bytes, on: wire, from: peer)
            case .close(let number, _):
                guard let wire = wires[number], wire.isOpen else { continue }
                hangUp(wire)
            case .write(let job):
                jobCount += 1
                jobs[jobCount] = job
                // Somebody else may be writing.
                let time = random.chance(1, in: 4) ? delay(30) : now
                agenda.add(
                    .write(peer: peer.number, life: peer.life, job: jobCount), at: time)
            case .fetched(let id, .failed(let error)):
                throw Violation(
                    description: "peer \(peer.number) cannot fetch \(id): \(error)")
            case .fetched(let id, .whole): peer.wantedFiles.remove(id)
            case .fetched, .statusChanged, .presenceChanged: continue
            }
        }
        serveSoon(peer)
    }

    /// Has a host go on with what it does between messages.
    private func serveSoon(_ peer: MeshPeer) {
        guard fileRandom != nil, !peer.isServing, let deadline = peer.host.deadline,
            deadline <= now
        else { return }
        peer.isServing = true
        agenda.add(.serve(peer: peer.number, life: peer.life), at: now + 1_000_000)
    }

    private func note(_ bytes: [UInt8]) {
        report.bytes += bytes.count
        // Whether something is said but that somebody is there.
        let type = bytes.count > 8 ? FrameType(rawValue: bytes[8]) : nil
        if type != .ping, type != .pong { report.frames += 1 }
    }

    /// Sends bytes on their way, in pieces that stay in their order.
    private func send(_ bytes: [UInt8], on wire: MeshWire, from peer: MeshPeer) {
        let end = wire.ends[0] == peer.number ? 1 : 0
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = network.chance(1, in: 3) ? 1 + network.below(rest.count) : rest.count
            var piece = Array(rest.prefix(count))
            rest = rest.dropFirst(count)
            let latency: UInt64 =
                network.chance(1, in: 50)
                ? UInt64(network.below(5_000)) * 1_000_000
                : UInt64(1 + network.below(40)) * 1_000_000
            wire.lastArrival[end] = max(wire.lastArrival[end] + 1, now + latency)
            if isUnruly, network.chance(1, in: 2_000) {
                piece[network.below(piece.count)] ^= UInt8(1 << network.below(8))
            }
            agenda.add(
                .arrive(wire: wire.number, end: end, piece), at: wire.lastArrival[end])
            if isUnruly, network.chance(1, in: 400) { return cut(wire) }
        }
    }

    /// Breaks a connection: what is on its way is lost.
    func cut(_ wire: MeshWire) {
        guard wire.isOpen else { return }
        wire.isOpen = false
        for end in 0...1 { agenda.add(.broken(wire: wire.number, end: end), at: now + 1) }
    }

    /// Ends a connection behind what is on its way.
    private func hangUp(_ wire: MeshWire) {
        let time = wire.lastArrival.max() ?? now
        for end in 0...1 {
            agenda.add(.broken(wire: wire.number, end: end), at: max(time, now) + 2)
        }
    }
}

extension MeshSimulation.Report {
    /// Adds what another mesh did.
    package mutating func add(_ other: Self) {
        virtualSeconds += other.virtualSeconds
        commits += other.commits
        crashes += other.crashes
        connections += other.connections
        frames += other.frames
        bytes += other.bytes
        files += other.files
        fetches += other.fetches
        events += other.events
    }
}
