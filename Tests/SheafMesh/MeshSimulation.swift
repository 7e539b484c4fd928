import SheafBytes
import SheafDocument
import SheafReplication
import SheafStorage
import SheafSync
import SheafTestSupport

/// A simulated mesh from one seed: peers on simulated disks and a simulated network.
///
/// The peers write, crash and lose connections, and must agree once the faults end.
package final class MeshSimulation {
    /// A violated invariant.
    package struct Violation: Error, CustomStringConvertible {
        package let description: String
    }

    /// Counts of a run.
    package struct Report: Sendable {
        package var virtualSeconds: UInt64 = 0
        package var commits = 0
        package var crashes = 0
        package var connections = 0
        package var frames = 0
        package var bytes = 0
        /// A hash of all sent frames in order, which shows whether two versions send the same ones.
        package var frameHash: UInt64 = 0
        package var events = 0
        package var files = 0
        package var fetches = 0
        /// Number of false frames of malicious peers.
        package var lies = 0
        /// Number of closed connections, by close code.
        package var closeMessages: [String: Int] = [:]
        /// Number of frames scanned for hidden documents.
        package var scanned = 0

        package init() {}
    }

    static let second: UInt64 = 1_000_000_000
    let seed: UInt64
    var random: SeededRandom
    var network: SeededRandom
    var agenda = MeshEventQueue()
    private(set) var now: UInt64 = 0
    var peers: [MeshPeer] = []
    var wires: [UInt64: MeshWire] = [:]
    var wireCount: UInt64 = 0
    var jobs: [Int: WriteJob] = [:]
    var jobCount = 0
    let plan: MeshPlan
    /// The pairs of peers that can be connected.
    var pairs: [(Int, Int)] { plan.pairs }
    /// Recorded frames, for replay by malicious peers.
    var recorded = RecordedFrames()
    /// Whether malicious peers still take part.
    private(set) var hasStrangers = true
    /// The times at which partitions of pairs end, by pair.
    var partitions: [Int: UInt64] = [:]
    /// Whether peers still write, crash, and lose connections.
    private(set) var isUnruly = true
    /// Backups of disks, by peer.
    var backups: [Int: SimulatedVolume] = [:]
    var transactions: [Int: Int64] = [:]
    /// Numbers of the peers whose disk was rolled back.
    var restored: Set<Int> = []
    /// Numbers of the peers whose clock was repaired.
    var repaired: Set<Int> = []
    /// Number of inserted short-lived documents.
    var passing = 0
    /// Documents of `cars` that a peer has evicted.
    var evicted: Set<DocumentAddress> = []
    /// The random numbers for actions on files, or nil in a mesh without files.
    var fileRandom: SeededRandom?
    /// All added files.
    var files: [AttachmentID] = []
    package internal(set) var report = Report()
    /// The document whose changes are printed, as `id` of `cars` or as `collection/id`.
    package var observed: String?
    package var printLine: (String) -> Void = { _ in }
    private var lastSeen: [Int: String] = [:]

    /// Creates the mesh of a seed, with files or without.
    package init(seed: UInt64, sharesFiles: Bool = false) throws {
        if sharesFiles { fileRandom = SeededRandom(seed: seed, "files") }
        self.seed = seed
        plan = MeshPlan(seed: seed, sharesFiles: sharesFiles)
        random = SeededRandom(seed: seed, "mesh")
        network = SeededRandom(seed: seed, "network")
        for (number, member) in plan.members.enumerated() {
            let peer = try MeshPeer(
                number, seed: seed &* 31 &+ UInt64(number), member, plan.limits)
            peers.append(peer)
        }
    }

    /// All peers but the malicious ones.
    var honest: [MeshPeer] { peers.filter { !$0.isStranger } }

    /// Runs the mesh with faults, and then without, until no more data is sent.
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
            try peer.subscribe(drawSubscriptions(of: peer))
            agenda.add(.act(peer: peer.number), at: delay(2_000))
            agenda.add(.tick(peer: peer.number), at: Self.second)
            if fileRandom != nil, !peer.isStranger {
                agenda.add(.file(peer: peer.number), at: Self.second)
            }
        }
        for (left, right) in pairs { agenda.add(.connect(left, right), at: delay(3_000)) }
        try run(until: Self.second * UInt64(60 + random.below(240)))
        isUnruly = false
        partitions = [:]
        healWires()
        try setClocks()
        try fetchMissing()
        for peer in peers {
            try peer.subscribe(everything(of: peer))
            try perform(peer)
        }
        try run(until: now + 60 * Self.second)
        if try revertRepairs() { try run(until: now + 60 * Self.second) }
        try checkAgreement()
        try dismissStrangers()
        // A peer receives evicted documents again, because it subscribes to them.
        try evict(honest[random.below(honest.count)])
        try run(until: now + 60 * Self.second)
        try checkAgreement()
        try checkFiles()
        let data = report.frames
        try run(until: now + 60 * Self.second)
        guard report.frames == data else {
            throw Violation(description: "\(report.frames - data) frames of data after convergence")
        }
        try checkAgreement()
        try checkPresence()
    }

    /// Disconnects the malicious peers permanently.
    private func dismissStrangers() throws {
        hasStrangers = false
        for peer in peers where peer.isStranger { cutAll(of: peer) }
    }

    static let everything = [
        "SELECT * FROM cars", "SELECT * FROM groups", "SELECT * FROM papers",
        "SELECT * FROM secrets", "SELECT * FROM drafts", "SELECT * FROM titles",
    ]

    /// Returns subscriptions to everything; a peer of an older version needs the names.
    private func everything(of peer: MeshPeer) -> [String] {
        Self.everything + (plan.members[peer.number].subscribesToAll ? ["*"] : [])
    }

    func drawSubscriptions(of peer: MeshPeer) -> [String] {
        if plan.staysSubscribed { return everything(of: peer) }
        // All peers subscribe to all groups, so that each transaction becomes visible atomically.
        let cars = [
            "SELECT * FROM cars", "SELECT * FROM cars WHERE color = 'red'",
            "SELECT * FROM cars WHERE n > 50", "SELECT * FROM cars WHERE _id = 'c3'",
            "SELECT * FROM cars WHERE color = 'blue' OR n < 20",
        ]
        var texts = ["SELECT * FROM groups"]
        let others = ["papers", "secrets", "drafts", "graffiti", "titles"]
        for name in others where random.chance(1, in: 2) { texts.append("SELECT * FROM \(name)") }
        for _ in 0..<random.below(3) { texts.append(cars[random.below(cars.count)]) }
        if plan.members[peer.number].subscribesToAll, random.chance(1, in: 2) { texts.append("*") }
        return texts
    }

    func delay(_ milliseconds: Int) -> UInt64 {
        now + UInt64(random.below(milliseconds * 1_000) + 1) * 1_000
    }

    private func run(until end: UInt64) throws {
        while let time = agenda.nextTime, time <= end, let event = agenda.next() {
            advance(to: event.time)
            report.events += 1
            try take(event.kind)
            if observed != nil { try reportObservedDocument(event.kind) }
        }
        advance(to: end)
    }

    private func reportObservedDocument(_ kind: MeshEvent.Kind) throws {
        guard let observed else { return }
        switch kind {
        case .tick, .arrive: break
        default: printLine("\(now / 1_000_000) ms: \(kind)".prefix(160).description)
        }
        for peer in peers {
            let seen = try peer.description(of: observed) + peer.refusals(of: observed)
            guard seen != lastSeen[peer.number] else { continue }
            lastSeen[peer.number] = seen
            printLine(
                "\(now / 1_000_000) ms, clock \(peer.wall), peer \(peer.number): \(seen), "
                    + "subscribes to \(peer.subscriptions), "
                    + "may \(peer.rights.map { "\($0)" } ?? "do everything")")
        }
    }

    private func advance(to time: UInt64) {
        let milliseconds = time / 1_000_000 - now / 1_000_000
        if milliseconds > 0 { for peer in peers { peer.clock.advance(milliseconds: milliseconds) } }
        now = time
    }

    private func take(_ kind: MeshEvent.Kind) throws {
        switch kind {
        case .arrive(let number, let end, let bytes): try arrive(number, end, bytes)
        case .broken(let number, let end): try drop(number, end)
        case .connect(let left, let right): try connect(left, right)
        case .flush(let number, let opening):
            let peer = peers[number]
            guard peer.opening == opening else { return }
            peer.isFlushing = false
            try peer.flush()
            peer.replicator.processPublished()
            if random.chance(1, in: 3) { try check(peer) }
            try perform(peer)
        case .write(let number, let opening, let job):
            let peer = peers[number]
            guard let job = jobs.removeValue(forKey: job), peer.opening == opening else { return }
            let outcome = peer.run(job)
            flushSoon(peer)
            peer.replicator.handleOutcome(outcome)
            try perform(peer)
        case .act(let number):
            guard isUnruly else { return }
            try act(peers[number])
            agenda.add(.act(peer: number), at: delay(random.chance(1, in: 4) ? 200 : 6_000))
        case .file(let number):
            guard isUnruly else { return }
            try actOnFiles(peers[number])
        case .serve(let number, let opening):
            let peer = peers[number]
            peer.isServing = false
            guard peer.opening == opening else { return }
            peer.replicator.tick(at: now)
            try perform(peer)
        case .tick(let number):
            peers[number].replicator.tick(at: now)
            try perform(peers[number])
            agenda.add(.tick(peer: number), at: now + Self.second)
        }
    }

    /// Delivers bytes to one end of a wire.
    private func arrive(_ number: UInt64, _ end: Int, _ bytes: [UInt8]) throws {
        guard let wire = wires[number], wire.isOpen else { return }
        let peer = peers[wire.ends[end]]
        guard peer.opening == wire.openings[end] else { return }
        let hasBytes = !bytes.isEmpty
        wire.unread[end] += bytes
        // A busy peer reads several frames together.
        if hasBytes, network.chance(1, in: 5) {
            let time = now + UInt64(1 + network.below(60)) * 1_000_000
            return agenda.add(.arrive(wire: number, end: end, []), at: time)
        }
        let read = wire.unread[end]
        wire.unread[end] = []
        guard !read.isEmpty else { return }
        read.withUnsafeBytes { peer.replicator.receive($0, on: number, at: now) }
        try perform(peer)
    }

    /// Disconnects one end of a wire, and connects the peers again later.
    private func drop(_ number: UInt64, _ end: Int) throws {
        guard let wire = wires[number] else { return }
        let peer = peers[wire.ends[end]]
        if peer.opening == wire.openings[end] {
            // Bytes before an orderly end are still read.
            let read = wire.isOpen ? wire.unread[end] : []
            if !read.isEmpty {
                read.withUnsafeBytes { peer.replicator.receive($0, on: number, at: now) }
                try perform(peer)
            }
            peer.replicator.disconnect(number)
            try perform(peer)
        }
        if end == 1 {
            wires[number] = nil
            agenda.add(.connect(wire.ends[0], wire.ends[1]), at: delay(2_000))
        }
    }

    /// Schedules a flush, unless one is scheduled.
    func flushSoon(_ peer: MeshPeer) {
        guard !peer.isFlushing else { return }
        peer.isFlushing = true
        // Some flushes are slow.
        let time = delay(random.chance(1, in: 12) ? 2_000 : 20)
        agenda.add(.flush(peer: peer.number, life: peer.opening), at: time)
    }

}

extension MeshSimulation.Report {
    /// Adds the counts of another mesh.
    package mutating func add(_ other: Self) {
        virtualSeconds += other.virtualSeconds
        commits += other.commits
        crashes += other.crashes
        connections += other.connections
        frames += other.frames
        bytes += other.bytes
        frameHash = frameHash &* 31 &+ other.frameHash
        files += other.files
        fetches += other.fetches
        events += other.events
        lies += other.lies
        scanned += other.scanned
        closeMessages.merge(other.closeMessages) { $0 + $1 }
    }
}
