import Sheaf
import SheafBytes
import SheafDocument
import SheafEngine
import SheafMesh
import SheafQuery
import SheafReplication
import SheafStatements
import SheafStorage
import SheafSync
import SheafSystem
import SheafTestSupport

import class SheafSystem.EvaluationStop

/// Replicators that exchange documents, message by message.
///
/// A test decides when a message arrives and when a batch is written.
final class DocumentScene {
    /// A peer without a thread.
    package final class Node: ReplicatorNode {
        let key: [UInt8]
        let clock = FakeClock()
        /// The signal that stops evaluations, as when the peer closes.
        let evaluationStop = EvaluationStop()
        private(set) var store: SceneStore
        private(set) var replicator: Replicator
        /// The closure that creates a replicator over a store.
        private let makeReplicator: (SceneStore) -> Replicator
        /// Number of commits whose history a compaction retains.
        private let history: UInt64
        private let transactionLength: Int
        /// Whether received batches wait to be written.
        var isBusy = false
        /// Whether written batches wait to become durable.
        var flushesLate = false
        fileprivate var jobs: [WriteJob] = []
        /// The types of the sent frames.
        fileprivate(set) var sent: [FrameType] = []
        /// Whether the sent frames are recorded in `frames`.
        var keepsFrames = false
        fileprivate(set) var frames: [[UInt8]] = []
        /// Total length of the sent segment frames, in bytes.
        fileprivate(set) var segmentLength = 0
        /// The reasons for which this node closed connections.
        fileprivate(set) var closeMessages: [CloseMessage] = []
        /// The clock warnings of this node.
        fileprivate(set) var clockWarnings: [String] = []
        /// The writes that other peers refused, by peer key; `newlyRefused` has them in order.
        fileprivate(set) var refusals: [[UInt8]: PeerRefusals] = [:]
        fileprivate(set) var newlyRefused: [RefusedWrite] = []

        fileprivate init(
            _ number: Int, keyOf owner: Int, _ limits: ReplicatorLimits, maximumRepairs: Int,
            history: UInt64, transactionLength: Int
        ) throws {
            (self.history, self.transactionLength) = (history, transactionLength)
            key = Array(repeating: UInt8(owner + 1), count: 32)
            let source = SeededSource(seed: UInt64(number))
            let identity = Replicator.Identity(
                database: Hello.DatabaseID(low: 1, high: 2), peerKey: key)
            let stop = evaluationStop
            makeReplicator = { store in
                Replicator(
                    store.queries, identity, attachments: store.attachments, limits: limits,
                    maximumRepairs: maximumRepairs,
                    evaluationStop: stop, random: { source.next() })
            }
            store = try SceneStore(
                SimulatedVolume(seed: UInt64(number)),
                Self.options(clock, history, transactionLength))
            replicator = makeReplicator(store)
        }

        private static func options(
            _ clock: FakeClock, _ history: UInt64, _ transactionLength: Int
        ) -> LogStoreOptions {
            var options = LogStoreOptions()
            options.transactionLength = transactionLength
            options.clock = clock.clock
            options.history = HistoryHorizon(commits: history, bytes: .max)
            // Compaction discards history of completed segments only.
            options.segmentLength = 16_000
            return options
        }

        /// Reopens the node on another disk, without subscriptions.
        fileprivate func reopen(on volume: SimulatedVolume) throws {
            jobs = []
            (refusals, newlyRefused) = ([:], [])
            store = try SceneStore(volume, Self.options(clock, history, transactionLength))
            replicator = makeReplicator(store)
        }

        /// Returns the writes of this peer that another one refused.
        func refused(by other: Node) -> [RefusedWrite] { refusals[other.key]?.writes ?? [] }

        /// Returns the commit of this node up to which another node has acknowledged everything.
        func synced(with other: Node) -> UInt64 {
            replicator.allStatuses[other.key]?.syncedUpTo ?? 0
        }

        var volume: SimulatedVolume { store.volume }
        var newestCommit: UInt64 { store.queries.documents.snapshot().log.commit }
    }

    private struct Direction: Hashable {
        let wire: UInt64
        let end: Int
    }

    /// A connection end to which a test adds frames, or that receives other ones than were sent.
    private struct ForgedEnd {
        var reader = FrameReader(limit: SyncLimits.frameLength)
        var writer = FrameWriter()
        let replaced: (Frame) throws -> [Frame]
    }

    private(set) var nodes: [Node] = []
    /// The log that some nodes share, and these nodes.
    var log: LogDouble?
    var hubs: [Int] = []
    private var wires: [UInt64: [Int]] = [:]
    private var messages: [(to: Direction, bytes: [UInt8])] = []
    private var held: Set<Direction> = []
    private var forged: [Direction: ForgedEnd] = [:]
    private var wireCount: UInt64 = 0
    private(set) var now: UInt64 = 1_000_000_000

    init(
        _ count: Int, _ limits: ReplicatorLimits = ReplicatorLimits(),
        maximumRepairs: Int = 1_000, keyOfSecond: Int = 1, history: UInt64 = 1_000,
        transactionLengthOfFirst: Int = 1 << 30, olderNodes: Set<Int> = []
    ) throws {
        for number in 0..<count {
            let owner = number == 1 ? keyOfSecond : number
            var limits = limits
            if olderNodes.contains(number) { limits.versions = 3...3 }
            nodes.append(
                try Node(
                    number, keyOf: owner, limits, maximumRepairs: maximumRepairs,
                    history: history,
                    transactionLength: number == 0 ? transactionLengthOfFirst : 1 << 30))
        }
    }

    // MARK: Connections

    /// Connects two peers with optional limited rights at the other; `sendsRights` informs them.
    @discardableResult
    func connect(
        _ left: Int, _ right: Int, rightsOfLeft: PeerRights? = nil,
        rightsOfRight: PeerRights? = nil, sendsRights: Bool = true
    ) throws -> UInt64 {
        wireCount += 1
        wires[wireCount] = [left, right]
        nodes[left].connect(
            wireCount, to: nodes[right], rights: rightsOfLeft, rightsOfOther: rightsOfRight,
            sendsRights: sendsRights, at: now)
        try perform(left)
        try perform(right)
        return wireCount
    }

    func disconnect(_ wire: UInt64) throws {
        guard let ends = wires.removeValue(forKey: wire) else { return }
        messages.removeAll { $0.to.wire == wire }
        for end in ends {
            nodes[end].replicator.disconnect(wire)
            try perform(end)
        }
    }

    /// Returns the connections of a node.
    func connections(of number: Int) -> [UInt64] {
        wires.keys.sorted().filter { wires[$0]?.contains(number) == true }
    }

    /// Disconnects a node, and reopens it on another state of its disk.
    func putBack(_ number: Int, to backup: SimulatedVolume) throws {
        try disconnectAll(of: number)
        try nodes[number].reopen(on: backup)
    }

    /// Connects a peer without a replicator to a node, and sends these frames to the node.
    func receive(_ frames: [Frame], on number: Int) throws {
        wireCount += 1
        wires[wireCount] = [number]
        nodes[number].replicator.connect(wireCount, at: now)
        let hello = Hello(
            database: Hello.DatabaseID(low: 1, high: 2), peerKey: Array(repeating: 99, count: 32),
            site: Site(rawValue: 99), log: .init(low: 9, high: wireCount), nonce: wireCount,
            wallMilliseconds: 0, isServer: false, name: "")
        var writer = FrameWriter()
        for frame in [Frame(.hello, hello.bytes)] + frames {
            writer.bytes(of: frame).withUnsafeBytes {
                nodes[number].replicator.receive($0, on: wireCount, at: now)
            }
            try perform(number)
            try run()
        }
        try disconnect(wireCount)
    }

    /// Holds messages to one end until they are released.
    func hold(_ wire: UInt64, to end: Int) { held.insert(Direction(wire: wire, end: end)) }

    func letGo(_ wire: UInt64, to end: Int) throws {
        held.remove(Direction(wire: wire, end: end))
        try run()
    }

    /// Delivers the first message held for one end, and returns whether there was one.
    func deliverHeld(_ wire: UInt64, to end: Int) throws -> Bool {
        let direction = Direction(wire: wire, end: end)
        guard let index = messages.firstIndex(where: { $0.to == direction }) else { return false }
        let (to, bytes) = messages.remove(at: index)
        try deliver(bytes, to)
        try run()
        return true
    }

    /// Allows a test to add frames to those that one end of a new connection receives.
    ///
    /// `replaced` returns the frame that the end receives in place of one that was sent.
    func forge(
        _ wire: UInt64, to end: Int, _ replaced: @escaping (Frame) throws -> Frame = { $0 }
    ) {
        split(wire, to: end) { [try replaced($0)] }
    }

    /// Like `forge`, with several frames in place of one.
    func split(_ wire: UInt64, to end: Int, _ replaced: @escaping (Frame) throws -> [Frame]) {
        forged[Direction(wire: wire, end: end)] = ForgedEnd(replaced: replaced)
    }

    /// Delivers a frame that the other end has not sent.
    func deliver(_ frame: Frame, on wire: UInt64, to end: Int) throws {
        let to = Direction(wire: wire, end: end)
        guard let bytes = forged[to]?.writer.bytes(of: frame) else { return }
        bytes.withUnsafeBytes { nodes[end].replicator.receive($0, on: wire, at: now) }
        try perform(end)
    }

    /// Delivers bytes that the other end has sent.
    private func deliver(_ bytes: [UInt8], _ to: Direction) throws {
        var bytes = bytes
        if var forgedEnd = forged[to] {
            bytes.withUnsafeBytes { forgedEnd.reader.append($0) }
            bytes = []
            while let frame = try forgedEnd.reader.next() {
                for frame in try forgedEnd.replaced(frame) {
                    bytes += forgedEnd.writer.bytes(of: frame)
                }
            }
            forged[to] = forgedEnd
        }
        bytes.withUnsafeBytes { nodes[to.end].replicator.receive($0, on: to.wire, at: now) }
        try perform(to.end)
    }

    func isConnected(_ wire: UInt64) -> Bool { wires[wire] != nil }

    // MARK: Documents

    func subscribe(_ number: Int, _ texts: [String]) throws {
        try nodes[number].replicator.subscribe(nodes[number].store.subscriptions(texts))
        try perform(number)
    }

    /// Runs a statement, makes its commit durable, and notifies the replicator.
    func execute(_ number: Int, _ query: DQL, _ arguments: QueryArguments = [:]) throws {
        try nodes[number].store.execute(query, arguments)
        nodes[number].replicator.processPublished()
        try perform(number)
    }

    /// Notifies the replicator of commits that a test wrote directly to the store.
    func published(_ number: Int) throws {
        nodes[number].replicator.processPublished()
        try perform(number)
    }

    /// Evicts a car or its tombstone, and notifies the replicator.
    func forget(_ number: Int, _ id: String) throws {
        try nodes[number].store.forget("cars", id)
        nodes[number].replicator.processPublished()
        try perform(number)
    }

    // MARK: Time

    /// Delivers messages that are not held, and writes batches, until nothing is left to do.
    func run() throws {
        var steps = 0
        while try step() {
            steps += 1
            guard steps < 3_000 else { throw NotSettled() }
        }
    }

    /// Runs at most `steps` steps; returns false if nothing is left to do.
    @discardableResult
    func run(steps: Int) throws -> Bool {
        for _ in 0..<steps {
            guard try step() else { return false }
        }
        return true
    }

    struct NotSettled: Error {}

    private func step() throws -> Bool {
        if let index = messages.firstIndex(where: { !held.contains($0.to) }) {
            let (to, bytes) = messages.remove(at: index)
            try deliver(bytes, to)
            return true
        }
        for (number, node) in nodes.enumerated() where !node.isBusy && !node.jobs.isEmpty {
            let job = node.jobs.removeFirst()
            let outcome = node.store.write(job)
            if !node.flushesLate { try node.store.flush() }
            node.replicator.handleOutcome(outcome)
            node.replicator.processPublished()
            try perform(number)
            return true
        }
        if let (hub, event) = log?.nextEvent() {
            nodes[hub].replicator.receive(event, at: now)
            try perform(hub)
            return true
        }
        // A replicator with unfinished work runs a turn.
        for (number, node) in nodes.enumerated() {
            guard let deadline = node.replicator.deadline, deadline <= now else { continue }
            node.replicator.tick(at: now)
            try perform(number)
            return true
        }
        return false
    }

    func advance(milliseconds: UInt64) throws {
        now += milliseconds * 1_000_000
        for node in nodes { node.clock.advance(milliseconds: milliseconds) }
        for number in nodes.indices {
            nodes[number].replicator.tick(at: now)
            try perform(number)
        }
        try run()
    }

    /// Delivers the messages that a node sent before it closed a connection.
    private func deliverAll(on wire: UInt64, from number: Int) throws {
        let end = (wires[wire] ?? []).first { $0 != number }
        guard let end else { return }
        let direction = Direction(wire: wire, end: end)
        let sent = messages.filter { $0.to == direction && !held.contains($0.to) }
        messages.removeAll { message in sent.contains { $0.to == message.to } }
        for (_, bytes) in sent {
            bytes.withUnsafeBytes { nodes[end].replicator.receive($0, on: wire, at: now) }
            try perform(end)
        }
    }

    func perform(_ number: Int) throws {
        for effect in nodes[number].replicator.drainEffects() {
            switch effect {
            case .send(let wire, let bytes):
                guard let ends = wires[wire], ends.count == 2 else { continue }
                if let type = FrameType(rawValue: bytes[8]) { nodes[number].sent.append(type) }
                if nodes[number].keepsFrames { nodes[number].frames.append(bytes) }
                if nodes[number].sent.last == .segment {
                    nodes[number].segmentLength += bytes.count
                }
                let end = ends[0] == number ? ends[1] : ends[0]
                messages.append((Direction(wire: wire, end: end), bytes))
            case .close(let wire, let closeMessage):
                nodes[number].closeMessages.append(closeMessage)
                try deliverAll(on: wire, from: number)
                try disconnect(wire)
            case .write(let job): nodes[number].jobs.append(job)
            case .hub(let effect): log?.perform(effect, of: number, among: hubs)
            case .clockWarning(_, let sentences): nodes[number].clockWarnings += sentences
            case .refusalsChanged(let key, let all, let new):
                nodes[number].refusals[key] = all
                nodes[number].newlyRefused += new
            case .fetched, .statusChanged, .presenceChanged, .ended, .keyContested: break
            }
        }
    }
}
