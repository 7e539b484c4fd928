import SheafAttachments
import SheafBytes
import SheafDocument
import SheafEngine
import SheafQuery
import SheafReplication
import SheafStatements
import SheafStorage
import SheafSync
import SheafTestSupport
import SheafTransport

/// One of two simulations with the same peers, clocks and seeds, delivered message by message.
final class PairedSimulation {
    /// A peer without a thread that retains all history.
    package final class Node: ReplicatorNode {
        package let key: [UInt8]
        let clock = FakeClock()
        let store: StoreEngine
        let queries: QueryEngine
        let attachments = AttachmentStore(in: MemoryVolume())
        package let replicator: Replicator

        init(_ number: Int, maximumListed: Int) throws {
            key = Array(repeating: UInt8(number + 1), count: 32)
            let source = SeededSource(seed: UInt64(number))
            var options = LogStoreOptions()
            options.runsMaintenance = false
            options.segmentLength = 16_000
            options.history = HistoryHorizon(commits: .max, bytes: .max)
            options.clock = clock.clock
            options.random = { source.next() }
            store = try StoreEngine(
                opening: SimulatedVolume(seed: UInt64(number)), options: options)
            queries = try QueryEngine(opening: store, maximumListed: maximumListed)
            var limits = ReplicatorLimits()
            limits.part = 300
            let drawn = SeededSource(seed: UInt64(number) + 100)
            replicator = Replicator(
                queries, Replicator.Identity(database: MeshPeer.database, peerKey: key),
                attachments: attachments, limits: limits, random: { drawn.next() })
            try execute("ALTER SYSTEM SET dql_restrict_subscriptions = false")
        }

        func execute(_ query: DQL) throws {
            let store = store
            let flush = { @Sendable () throws(StorageError) in while try store.flush() {} }
            let (statement, values) = try queries.prepare(query, [:])
            _ = try queries.execute(
                statement, values,
                CommitSink(
                    append: { batch throws(StorageError) in try store.append(batch) },
                    flush: flush))
        }

        func commit(_ changes: [DocumentChange]) throws {
            _ = try queries.documents.commit(changes) { batch throws(StorageError) in
                try store.append(batch)
            }
            while try store.flush() {}
            replicator.processPublished()
        }

        func write(_ job: WriteJob) throws {
            let outcome = job.run(queries) { batch throws(StorageError) in
                try store.append(batch)
            }
            while try store.flush() {}
            replicator.handleOutcome(outcome)
            replicator.processPublished()
        }

        func subscriptions(_ texts: [String]) throws -> [SubscriptionQuery] {
            try texts.map { try SubscriptionQuery($0, queries) }
        }
    }

    let nodes: [Node]
    private(set) var now: UInt64 = 1_000_000_000
    private var wires: [UInt64: [Int]] = [:]
    private var queue: [(wire: UInt64, to: Int, bytes: [UInt8])] = []
    private var jobs: [(node: Int, job: WriteJob)] = []
    /// The number of the node whose received frames are recorded.
    private let observed: Int
    private var received: [[UInt8]] = []
    /// The number of a connection end that is no node.
    static let outside = -1

    init(_ count: Int, observing observed: Int) throws {
        nodes = try (0..<count).map { try Node($0, maximumListed: $0 == 0 ? 2 : 4_096) }
        self.observed = observed
    }

    /// Returns the recorded frames since the last call.
    func takeReceived() -> [[UInt8]] {
        defer { received = [] }
        return received
    }

    // MARK: Connections

    /// Connects two nodes; the right one may have limited rights, and `sendsRights` informs it.
    func connect(
        _ wire: UInt64, _ left: Int, _ right: Int, rightsOfRight: PeerRights?,
        sendsRights: Bool = true
    ) throws {
        wires[wire] = [left, right]
        nodes[left].connect(
            wire, to: nodes[right], rightsOfOther: rightsOfRight, sendsRights: sendsRights, at: now)
        try perform(left)
        try perform(right)
    }

    /// Connects node 0 to an end outside the simulation, which sends frames with `receive(_:on:)`.
    func connectOutside(_ wire: UInt64, rights: PeerRights) throws {
        wires[wire] = [0, Self.outside]
        nodes[0].replicator.connect(wire, rights: rights, at: now)
        try perform(0)
    }

    /// Delivers a frame from outside to node 0.
    func receive(_ bytes: [UInt8], on wire: UInt64) throws {
        guard wires[wire] != nil else { return }
        bytes.withUnsafeBytes { nodes[0].replicator.receive($0, on: wire, at: now) }
        try perform(0)
    }

    func disconnect(_ wire: UInt64) throws {
        guard let ends = wires.removeValue(forKey: wire) else { return }
        queue.removeAll { $0.wire == wire }
        for end in ends where end != Self.outside {
            nodes[end].replicator.disconnect(wire)
            try perform(end)
        }
    }

    func wire(between left: Int, _ right: Int) -> UInt64? {
        wires.first { $0.value == [left, right] }?.key
    }

    // MARK: Time

    func advance(milliseconds: UInt64) throws {
        now += milliseconds * 1_000_000
        for node in nodes { node.clock.advance(milliseconds: milliseconds) }
        for number in nodes.indices {
            nodes[number].replicator.tick(at: now)
            try perform(number)
        }
    }

    /// Delivers all messages, and performs the work that they cause.
    ///
    /// Messages of the observed node are first, so that other messages do not change their order.
    func run() throws {
        var steps = 0
        while try step() {
            steps += 1
            guard steps < 20_000 else {
                throw PairedSimulations.Difference(description: "peers never run out of work")
            }
        }
    }

    private func step() throws -> Bool {
        if try deliver(isObserved: true) { return true }
        for (number, node) in nodes.enumerated() {
            guard let deadline = node.replicator.deadline, deadline <= now else { continue }
            node.replicator.tick(at: now)
            try perform(number)
            return true
        }
        return try deliver(isObserved: false)
    }

    /// Delivers a message, or writes a batch, on connections with or without the observed node.
    private func deliver(isObserved: Bool) throws -> Bool {
        func isSelected(_ wire: UInt64) -> Bool {
            (wires[wire]?.contains(observed) ?? isObserved) == isObserved
        }
        if let index = queue.firstIndex(where: { isSelected($0.wire) }) {
            let (wire, end, bytes) = queue.remove(at: index)
            bytes.withUnsafeBytes { nodes[end].replicator.receive($0, on: wire, at: now) }
            try perform(end)
            return true
        }
        if let index = jobs.firstIndex(where: { isSelected($0.job.connection) }) {
            let (number, job) = jobs.remove(at: index)
            try nodes[number].write(job)
            try perform(number)
            return true
        }
        return false
    }

    func perform(_ number: Int) throws {
        for effect in nodes[number].replicator.drainEffects() {
            switch effect {
            case .send(let wire, let bytes):
                guard let ends = wires[wire] else { continue }
                let end = ends[0] == number ? ends[1] : ends[0]
                if end == observed { received.append(bytes) }
                guard end != Self.outside else { continue }
                queue.append((wire, end, bytes))
            case .close(let wire, _): try disconnect(wire)
            case .write(let job): jobs.append((number, job))
            default: break
            }
        }
    }
}
