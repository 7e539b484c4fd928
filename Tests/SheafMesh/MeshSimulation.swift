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
        /// What those said who are not to be trusted, that was not so.
        package var lies = 0
        /// How often a connection was ended, by the name of the reason.
        package var farewells: [String: Int] = [:]
        /// How many frames were looked through for what somebody must not see.
        package var scanned = 0

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
    var wireCount: UInt64 = 0
    var jobs: [Int: WriteJob] = [:]
    var jobCount = 0
    let plan: MeshPlan
    /// Who can be connected with whom.
    var pairs: [(Int, Int)] { plan.pairs }
    /// What anybody has said, for those who say it again.
    var heard = HeardFrames()
    /// Whether those who are not to be trusted are still there.
    private(set) var hasStrangers = true
    /// Pairs that cannot reach each other for now, and until when.
    var partitions: [Int: UInt64] = [:]
    /// Whether peers still write, crash, and lose connections.
    private(set) var isUnruly = true
    /// Backups of disks.
    var backups: [Int: SimulatedVolume] = [:]
    var transactions: [Int: Int64] = [:]
    /// Those whose disk was put back to an older state.
    var restored: Set<Int> = []
    /// Numbers of the peers whose clock was repaired.
    var repaired: Set<Int> = []
    /// How many documents were written that soon go again.
    var passing = 0
    /// Documents of `cars` that somebody has taken away for himself.
    var evicted: Set<DocumentAddress> = []
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
        plan = MeshPlan(seed: seed, sharesFiles: sharesFiles)
        random = SeededRandom(seed: seed, "mesh")
        network = SeededRandom(seed: seed, "network")
        for (number, member) in plan.members.enumerated() {
            let peer = try MeshPeer(
                number, seed: seed &* 31 &+ UInt64(number), member, plan.lengths)
            peers.append(peer)
        }
    }

    /// All but those who are not to be trusted.
    var honest: [MeshPeer] { peers.filter { !$0.isStranger } }

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
            try peer.subscribe(Self.everything)
            try perform(peer)
        }
        try run(until: now + 60 * Self.second)
        if try revertRepairs() { try run(until: now + 60 * Self.second) }
        try checkAgreement()
        try dismissStrangers()
        // What one of them takes away comes back, for it is wanted.
        try evict(honest[random.below(honest.count)])
        try run(until: now + 60 * Self.second)
        try checkAgreement()
        try checkFiles()
        let data = report.frames
        try run(until: now + 60 * Self.second)
        guard report.frames == data else {
            throw Violation(description: "\(report.frames - data) frames of data in silence")
        }
        try checkAgreement()
        try checkPresence()
    }

    /// Those who are not to be trusted go for good.
    private func dismissStrangers() throws {
        hasStrangers = false
        for peer in peers where peer.isStranger { cutAll(of: peer) }
    }

    static let everything = [
        "SELECT * FROM cars", "SELECT * FROM groups", "SELECT * FROM papers",
        "SELECT * FROM secrets", "SELECT * FROM drafts", "SELECT * FROM titles",
    ]

    func drawSubscriptions() -> [String] {
        if plan.staysSubscribed { return Self.everything }
        // Groups are always wanted as a whole: what is written of one at a time is seen at a time.
        let cars = [
            "SELECT * FROM cars", "SELECT * FROM cars WHERE color = 'red'",
            "SELECT * FROM cars WHERE n > 50", "SELECT * FROM cars WHERE _id = 'c3'",
            "SELECT * FROM cars WHERE color = 'blue' OR n < 20",
        ]
        var texts = ["SELECT * FROM groups"]
        let others = ["papers", "secrets", "drafts", "graffiti", "titles"]
        for name in others where random.chance(1, in: 2) { texts.append("SELECT * FROM \(name)") }
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
            let seen = try peer.description(of: watched) + peer.refusals(of: watched)
            guard seen != lastSeen[peer.number] else { continue }
            lastSeen[peer.number] = seen
            tell(
                "\(now / 1_000_000) ms, clock \(peer.wall), peer \(peer.number): \(seen), "
                    + "wants \(peer.subscriptions), "
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
        case .arrive(let number, let end, let bytes):
            guard let wire = wires[number], wire.isOpen else { return }
            let peer = peers[wire.ends[end]]
            guard peer.life == wire.lives[end] else { return }
            let isNews = !bytes.isEmpty
            wire.unread[end] += bytes
            // A busy peer reads several frames at once.
            if isNews, network.chance(1, in: 5) {
                let time = now + UInt64(1 + network.below(60)) * 1_000_000
                return agenda.add(.arrive(wire: number, end: end, []), at: time)
            }
            let read = wire.unread[end]
            wire.unread[end] = []
            guard !read.isEmpty else { return }
            read.withUnsafeBytes { peer.host.receive($0, on: number, at: now) }
            try perform(peer)
        case .broken(let number, let end):
            guard let wire = wires[number] else { return }
            let peer = peers[wire.ends[end]]
            if peer.life == wire.lives[end] {
                // What came before the end of an orderly connection is read.
                let read = wire.isOpen ? wire.unread[end] : []
                if !read.isEmpty {
                    read.withUnsafeBytes { peer.host.receive($0, on: number, at: now) }
                    try perform(peer)
                }
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
            try peer.flush()
            peer.host.notePublished()
            if random.chance(1, in: 3) { try check(peer) }
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
        lies += other.lies
        scanned += other.scanned
        farewells.merge(other.farewells) { $0 + $1 }
    }
}
