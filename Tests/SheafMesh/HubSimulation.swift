import SheafBytes
import SheafDocument
import SheafHubLog
import SheafReplication
import SheafStatements
import SheafStorage
import SheafTestSupport

/// Simulated hubs of one log from a seed, and clients that use one hub after the other.
///
/// Clients write, hubs are killed, and the log has transient faults. Nothing that was acknowledged
/// may be missing, and all must agree once the faults end.
package final class HubSimulation {
    /// A violated invariant.
    package struct Violation: Error, CustomStringConvertible {
        package let description: String
    }

    /// Counts of a run.
    package struct Report: Sendable {
        package var virtualSeconds: UInt64 = 0
        package var commits = 0
        package var kills = 0
        package var moves = 0
        package var entries = 0
        /// Number of documents whose acknowledgment was checked.
        package var acknowledged = 0
        /// Number of those that another live hub had, too.
        package var confirmed = 0

        package init() {}

        /// Adds the counts of another run.
        package mutating func add(_ other: Self) {
            virtualSeconds += other.virtualSeconds
            commits += other.commits
            kills += other.kills
            moves += other.moves
            entries += other.entries
            acknowledged += other.acknowledged
            confirmed += other.confirmed
        }
    }

    enum Kind {
        case arrive(wire: UInt64, end: Int, [UInt8])
        case flush(peer: Int, opening: Int)
        case write(peer: Int, opening: Int, WriteJob)
        case wake(peer: Int, opening: Int)
        case act(client: Int)
        case connect(client: Int)
        case trouble(hub: Int)
        case open(hub: Int)
        case rejoin(hub: Int)
        case log
    }

    struct Event {
        let time: UInt64
        let order: UInt64
        let kind: Kind
    }

    /// A document that one client has inserted once.
    struct Inserted {
        let id: String
        let client: Int
        /// Number of openings of the client when it was inserted.
        let opening: Int
        let commit: CommitID
        var isAcknowledged = false
    }

    static let second: UInt64 = 1_000_000_000
    static let everything = ["SELECT * FROM cars"]
    static let log = HubLogID(low: 3, high: 4)
    let seed: UInt64
    let hubCount: Int
    let map: ShardMap
    var random: SeededRandom
    let log: LogDouble
    var peers: [MeshPeer] = []
    /// The hubs that run, and the time since which each one runs and reaches the log.
    var running: Set<Int> = []
    var reachableSince: [Int: UInt64] = [:]
    /// The connection of each client, and its hub.
    var wires: [Int: (number: UInt64, hub: Int)] = [:]
    var lastArrival: [UInt64: [UInt64]] = [:]
    var wireCount: UInt64 = 0
    private(set) var now: UInt64 = 1_000_000_000
    /// The time to which the clocks of the peers were advanced.
    private var clockTime: UInt64 = 1_000_000_000
    var events: [Event] = []
    var eventCount: UInt64 = 0
    /// Times of the next wakes, by peer.
    var wakes: [Int: UInt64] = [:]
    var inserted: [Inserted] = []
    /// Whether clients still write and hubs are killed.
    private(set) var isUnruly = true
    package internal(set) var report = Report()

    /// Creates the hubs and clients of a seed.
    package init(seed: UInt64, hubs: Int) throws {
        self.seed = seed
        hubCount = hubs
        random = SeededRandom(seed: seed, "hubs")
        var faults = random.chance(1, in: 4) ? LogDouble.Faults() : .transient
        // Each hub receives some of the beats of ten seconds.
        faults.losesBroadcast = 50
        log = LogDouble(seed: seed, faults)
        map =
            random.chance(1, in: 2)
            ? .single : try ShardMap(shardCount: 4, splitCollections: ["cars"])
        for number in 0..<hubs + 2 + random.below(4) {
            peers.append(
                try MeshPeer(
                    number, seed: seed &* 31 &+ UInt64(number), MeshPlan.Member(),
                    ReplicatorLimits()))
        }
    }

    var clients: Range<Int> { hubCount..<peers.count }

    /// Runs with faults, and then without, until nothing is appended.
    package func run() throws {
        do {
            try live()
        } catch {
            throw Violation(
                description: "\(error)\nat \(now / 1_000_000) ms of seed \(seed), "
                    + "\(hubCount) hubs, \(clients.count) clients, \(map.shardCount) shards")
        }
        report.virtualSeconds = now / Self.second
        report.entries = log.count
    }

    private func live() throws {
        for peer in peers { try peer.subscribe(Self.everything) }
        for hub in 0..<hubCount {
            try open(hub)
            add(.trouble(hub: hub), at: delay(30_000))
        }
        for client in clients {
            add(.connect(client: client), at: delay(2_000))
            add(.act(client: client), at: delay(3_000))
        }
        add(.log, at: now)
        try run(until: now + Self.second * UInt64(60 + random.below(120)))
        isUnruly = false
        log.faults = LogDouble.Faults()
        log.forgetIDs()
        for hub in 0..<hubCount {
            if !running.contains(hub) { try open(hub) }
            rejoin(hub)
        }
        try run(until: now + 150 * Self.second)
        try checkAgreement()
        let count = log.count
        try run(until: now + 30 * Self.second)
        guard log.count == count else {
            throw Violation(description: "\(log.count - count) entries after convergence")
        }
        try checkAgreement()
    }

    // MARK: Time

    func delay(_ milliseconds: Int) -> UInt64 {
        now + UInt64(random.below(milliseconds * 1_000) + 1) * 1_000
    }

    /// Adds an event after those of the same time.
    func add(_ kind: Kind, at time: UInt64) {
        eventCount += 1
        let event = Event(time: max(time, now), order: eventCount, kind: kind)
        var (low, high) = (0, events.count)
        // The next event is the last one of the list.
        while low < high {
            let middle = (low + high) / 2
            if events[middle].time > event.time { low = middle + 1 } else { high = middle }
        }
        events.insert(event, at: low)
    }

    private func run(until end: UInt64) throws {
        while let event = events.last, event.time <= end {
            events.removeLast()
            now = event.time
            try take(event.kind)
        }
        now = end
        advanceClocks()
    }

    private func advanceClocks() {
        let milliseconds = now / 1_000_000 - clockTime / 1_000_000
        if milliseconds > 0 { for peer in peers { peer.clock.advance(milliseconds: milliseconds) } }
        clockTime = now
    }

    private func take(_ kind: Kind) throws {
        // Most events ask the log, which seldom has an answer that a peer reads.
        if case .log = kind {
            add(.log, at: delay(4))
            guard let (hub, event) = log.nextEvent() else { return }
            advanceClocks()
            peers[hub].replicator.receive(event, at: now)
            return try perform(peers[hub])
        }
        advanceClocks()
        switch kind {
        case .arrive(let wire, let end, let bytes): try arrive(bytes, wire, end)
        case .flush(let number, let opening):
            let peer = peers[number]
            guard peer.opening == opening else { return }
            peer.isFlushing = false
            try peer.flush()
            peer.replicator.processPublished()
            try perform(peer)
        case .write(let number, let opening, let job):
            let peer = peers[number]
            guard peer.opening == opening else { return }
            let outcome = peer.run(job)
            flushSoon(peer)
            peer.replicator.handleOutcome(outcome)
            try perform(peer)
        case .wake(let number, let opening):
            let peer = peers[number]
            guard peer.opening == opening else { return }
            wakes[number] = nil
            peer.replicator.tick(at: now)
            try perform(peer)
        case .act(let client): try act(client)
        case .connect(let client): try connect(client)
        case .trouble(let hub): try trouble(hub)
        case .open(let hub): if !running.contains(hub) { try open(hub) }
        case .rejoin(let hub): rejoin(hub)
        case .log: break
        }
    }
}
