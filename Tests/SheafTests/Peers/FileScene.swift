import Sheaf
import SheafAttachments
import SheafBytes
import SheafDocument
import SheafMesh
import SheafReplication
import SheafStatements
import SheafStorage
import SheafSync
import SheafTestSupport

/// Replicators that fetch attachments from each other, message by message.
final class FileScene {
    /// A peer without a thread.
    package final class Node: ReplicatorNode {
        let key: [UInt8]
        fileprivate(set) var store: SceneStore
        let clock = FakeClock()
        let files: MemoryVolume
        fileprivate(set) var attachments: AttachmentStore
        fileprivate(set) var replicator: Replicator
        /// The completed fetches; `failed` and `received` have the errors and the progress.
        fileprivate(set) var complete: [AttachmentID] = []
        fileprivate(set) var failed: [AttachmentID: AttachmentError] = [:]
        fileprivate(set) var received = 0
        /// Number of attachment chunks and hash lists sent.
        fileprivate(set) var sentParts = 0
        /// Number of subscriptions sent.
        fileprivate(set) var subscriptionCount = 0

        /// Effects that are not performed yet, oldest first.
        fileprivate var effects: [Replicator.Effect] = []
        fileprivate var isPerforming = false
        private let limits: ReplicatorLimits
        /// The disk of the attachments, in place of `files`.
        private let disk: SimulatedVolume?

        fileprivate init(
            _ number: Int, _ limits: ReplicatorLimits, _ disk: SimulatedVolume?
        ) throws {
            (self.limits, self.disk) = (limits, disk)
            key = Array(repeating: UInt8(number + 1), count: 32)
            store = try SceneStore(
                SimulatedVolume(seed: UInt64(number)), Self.options(clock))
            files = MemoryVolume()
            (attachments, replicator) = Self.open(store.queries, key, files, disk, limits)
        }

        private static func open(
            _ queries: QueryEngine, _ key: [UInt8], _ files: MemoryVolume,
            _ disk: SimulatedVolume?, _ limits: ReplicatorLimits
        ) -> (AttachmentStore, Replicator) {
            let attachments = disk.map { AttachmentStore($0) } ?? AttachmentStore(in: files)
            let source = SeededSource(seed: UInt64(key[0]))
            let replicator = Replicator(
                queries,
                Replicator.Identity(
                    database: Hello.DatabaseID(low: 1, high: 2), peerKey: key),
                attachments: attachments, limits: limits, random: { source.next() })
            return (attachments, replicator)
        }

        private static func options(_ clock: FakeClock) -> LogStoreOptions {
            var options = LogStoreOptions()
            options.clock = clock.clock
            return options
        }

        /// Opens the store again in its state after a power cut.
        fileprivate func cutPower() throws {
            store = try SceneStore(store.volume.powerCut(seed: 1), Self.options(clock))
        }

        fileprivate func reopen() {
            effects = []
            (attachments, replicator) = Self.open(store.queries, key, files, disk, limits)
        }

        /// Inserts a document that references a file.
        func insert(
            _ id: String, naming file: AttachmentID, length: Int, owner: String = "ann"
        ) throws {
            let token = try AttachmentToken(
                ["id": .string(file.description), "len": .integer(Int64(length))])
            let car: Object = [
                "_id": .string(id), "owner": .string(owner), "photo": token.value,
            ]
            try execute(
                "INSERT INTO COLLECTION cars (photo ATTACHMENT) DOCUMENTS (:car)",
                QueryArguments(["car": .object(car)]))
        }

        /// Runs a statement, makes its commit durable, and notifies the replicator.
        func execute(_ query: DQL, _ arguments: QueryArguments = [:]) throws {
            try store.execute(query, arguments)
            replicator.processPublished()
        }

        /// Returns the rows of a query, as JSON.
        func rows(_ query: DQL) throws -> [String] { try store.rows(query) }

        func contents(of id: AttachmentID) throws -> [UInt8]? { try attachments.bytes(of: id) }
    }

    private(set) var nodes: [Node] = []
    private(set) var hostilePeers: [FaultyPeer] = []
    /// The ends of connections; numbers from `firstHostilePeer` on are hostile peers.
    private var wires: [UInt64: [Int]] = [:]
    private var queue: [(wire: UInt64, to: Int, bytes: [UInt8])] = []
    private var wireCount: UInt64 = 0
    private(set) var now: UInt64 = 1_000_000_000
    /// Number of sent messages, without those that idle connections send.
    private(set) var messageCount = 0
    private static let firstHostilePeer = 100
    /// All sent messages, by the numbers of the connection and the sender.
    private(set) var sent: [UInt64: [Int: [[UInt8]]]] = [:]

    /// Creates peers; those in `disks` keep their attachments there.
    init(
        _ count: Int, _ limits: ReplicatorLimits = ReplicatorLimits(),
        disks: [Int: SimulatedVolume] = [:]
    ) throws {
        for number in 0..<count { nodes.append(try Node(number, limits, disks[number])) }
    }

    // MARK: Connections

    @discardableResult
    func connect(_ left: Int, _ right: Int, rightsOfRight: PeerRights? = nil) throws -> UInt64 {
        wireCount += 1
        wires[wireCount] = [left, right]
        nodes[left].connect(
            wireCount, to: nodes[right], rightsOfOther: rightsOfRight, sendsRights: false, at: now)
        try perform(left)
        try perform(right)
        return wireCount
    }

    /// Connects a node with a hostile peer.
    @discardableResult
    func connect(_ left: Int, hostilePeer: FaultyPeer, rights: PeerRights? = nil) throws -> UInt64 {
        wireCount += 1
        wires[wireCount] = [left, Self.firstHostilePeer + hostilePeers.count]
        hostilePeers.append(hostilePeer)
        nodes[left].replicator.connect(wireCount, rights: rights, at: now)
        try perform(left)
        send(
            hostilePeer.begin(at: now), on: wireCount,
            from: Self.firstHostilePeer + hostilePeers.count - 1)
        return wireCount
    }

    func disconnect(_ wire: UInt64) throws {
        guard let ends = wires.removeValue(forKey: wire) else { return }
        queue.removeAll { $0.wire == wire }
        for end in ends where end < Self.firstHostilePeer {
            nodes[end].replicator.disconnect(wire)
            try perform(end)
        }
    }

    func disconnect(node number: Int) throws {
        for (wire, ends) in wires where ends.contains(number) { try disconnect(wire) }
    }

    /// Restarts a node without a frame to any peer, after a power cut if `isPowerCut`.
    func restart(_ number: Int, isPowerCut: Bool = false) throws {
        for (wire, ends) in wires where ends.contains(number) {
            wires[wire] = nil
            queue.removeAll { $0.wire == wire }
            for end in ends where end != number && end < Self.firstHostilePeer {
                nodes[end].replicator.disconnect(wire)
                try perform(end)
            }
        }
        if isPowerCut { try nodes[number].cutPower() }
        nodes[number].reopen()
    }

    var isConnected: Bool { !wires.isEmpty }

    // MARK: Documents

    func subscribe(_ number: Int, _ texts: [String]) throws {
        try nodes[number].replicator.subscribe(nodes[number].store.subscriptions(texts))
        try perform(number)
    }

    /// Runs a statement, and performs the effects of its commit.
    func execute(_ number: Int, _ query: DQL, _ arguments: QueryArguments = [:]) throws {
        try nodes[number].execute(query, arguments)
        try perform(number)
    }

    // MARK: Files

    func fetch(_ id: AttachmentID, by number: Int) throws {
        nodes[number].replicator.fetch(id, at: now)
        try perform(number)
    }

    func cancel(_ id: AttachmentID, by number: Int) throws {
        nodes[number].replicator.cancelFetch(id)
        try perform(number)
    }

    func recordPublished(_ number: Int) throws {
        nodes[number].replicator.processPublished()
        try perform(number)
    }

    // MARK: Time

    /// Delivers one message or runs one due tick; returns false if there is neither.
    func step() throws -> Bool {
        if !queue.isEmpty {
            let (wire, end, bytes) = queue.removeFirst()
            guard let ends = wires[wire] else { return true }
            if end >= Self.firstHostilePeer {
                send(
                    hostilePeers[end - Self.firstHostilePeer].receive(bytes, at: now), on: wire,
                    from: end)
            } else {
                precondition(ends.contains(end), "A wire has two ends.")
                bytes.withUnsafeBytes { nodes[end].replicator.receive($0, on: wire, at: now) }
                try perform(end)
            }
            return true
        }
        for (number, node) in nodes.enumerated() {
            guard let deadline = node.replicator.deadline, deadline <= now else { continue }
            node.replicator.tick(at: now)
            try perform(number)
            return true
        }
        return false
    }

    /// Runs until no node has anything to do, or `condition` holds.
    func run(until condition: () throws -> Bool = { false }) throws {
        var steps = 0
        while try !condition(), try step() {
            steps += 1
            guard steps < 100_000 else { throw NotSettled() }
        }
    }

    struct NotSettled: Error {}

    /// Lets time pass, and then runs until no node has anything to do, or `condition` holds.
    func advance(seconds: UInt64, until condition: () throws -> Bool = { false }) throws {
        now += seconds * 1_000_000_000
        for (number, node) in nodes.enumerated() {
            node.clock.advance(milliseconds: seconds * 1_000)
            node.replicator.tick(at: now)
            try perform(number)
        }
        try run(until: condition)
    }

    private func perform(_ number: Int) throws {
        let node = nodes[number]
        node.effects += node.replicator.drainEffects()
        // Effects caused by an effect are appended to the queue.
        guard !node.isPerforming else { return }
        node.isPerforming = true
        defer { node.isPerforming = false }
        while !node.effects.isEmpty {
            try perform(node.effects.removeFirst(), of: node, number)
            node.effects += node.replicator.drainEffects()
        }
    }

    private func perform(_ effect: Replicator.Effect, of node: Node, _ number: Int) throws {
        switch effect {
        case .send(let wire, let bytes):
            switch bytes.count > 8 ? FrameType(rawValue: bytes[8]) : nil {
            case .part: node.sentParts += 1
            case .subscribe: node.subscriptionCount += 1
            case .ping, .pong, .historyDropped: messageCount -= 1
            default: break
            }
            send([bytes], on: wire, from: number)
        case .close(let wire, _): try disconnect(wire)
        case .write(let job):
            let outcome = node.store.write(job)
            try node.store.flush()
            node.replicator.processPublished()
            node.replicator.handleOutcome(outcome)
        case .fetched(_, .progress(let received, _)): node.received = received
        case .fetched(let id, .complete): node.complete.append(id)
        case .fetched(let id, .failed(let error)): node.failed[id] = error
        case .hub, .statusChanged, .presenceChanged, .ended, .keyContested, .clockWarning,
            .refusalsChanged:
            break
        }
    }

    private func send(_ messages: [[UInt8]], on wire: UInt64, from end: Int) {
        guard let ends = wires[wire] else { return }
        let other = ends[0] == end ? ends[1] : ends[0]
        messageCount += messages.count
        sent[wire, default: [:]][end, default: []] += messages
        for bytes in messages { queue.append((wire, other, bytes)) }
    }
}
