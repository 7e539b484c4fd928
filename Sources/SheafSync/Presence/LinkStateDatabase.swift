/// The link-state database of one peer: a record of each known peer, and the records to send.
///
/// A machine: inputs are connections, received messages, and time; outputs are actions. Records
/// flood over all connections, and the newest record of each peer is kept. Routes consist of the
/// connections that both ends list. Each neighbor has at most one unacknowledged message; changes
/// in the meantime are coalesced.
package struct LinkStateDatabase: Sendable {
    /// An effect that the caller must carry out.
    package enum Action: Equatable, Sendable {
        /// Sends a message to a neighbor; the next one follows `acknowledged(on:)`.
        case send(connection: UInt64, PresenceMessage)
        /// Acknowledges the last message of a neighbor.
        case acknowledged(connection: UInt64)
        /// The value of `reachable` or `knownAddresses` changed.
        case changed
        /// Another peer published this record under the local key.
        case contested(PeerRecord)
    }

    package struct Entry: Sendable {
        var record: PeerRecord
        /// Length of the shortest route to the peer, in connections; nil if it is unreachable.
        var distance: Int?
        /// Time at which the peer became unreachable.
        var hiddenSince: UInt64 = 0
        /// Whether the peer is reachable, or was.
        var wasReached = false
        let number: RecordNumber

        fileprivate func with(_ record: PeerRecord, _ number: RecordNumber) -> Self {
            Self(
                record: record, distance: distance, hiddenSince: hiddenSince,
                wasReached: wasReached, number: number)
        }
    }

    /// The key of this peer.
    package let key: [UInt8]
    let salt: UInt64
    package private(set) var description: PeerRecord.Description
    private(set) var entries: [[UInt8]: Entry]
    private var numbers = RecordNumbers()
    /// Length of all records in bytes.
    private(set) var totalLength = 0
    /// Keys of the records whose peers are unreachable.
    private(set) var hiddenKeys: Set<[UInt8]> = []
    var adjacentPeers: [UInt64: Connection] = [:]
    /// The other hubs, if this peer is one.
    var hubs = HubNeighbors()
    /// The numbers of the connections in order, and those to each neighbor.
    private var connectionNumbers: [UInt64] = []
    private var connectionsByKey: [[UInt8]: [UInt64]] = [:]
    /// Numbers of the connections for which actions may be due.
    private(set) var busyConnections: Set<UInt64> = []
    /// Keys of the reachable peers, nearest first.
    private(set) var order: [[UInt8]]
    var hasNewConnections = false
    private var hasChanged = false
    /// Whether actions may be pending before `deadline`.
    private var isBusy = true
    /// Time of the next scheduled action.
    package private(set) var deadline: UInt64?
    var overtaking = Overtaking()

    /// Creates a database with only the local peer, opened at `opening` in milliseconds since 1970.
    package init(
        _ key: [UInt8], _ description: PeerRecord.Description, opening: UInt64, salt: UInt64
    ) {
        (self.key, self.description, self.salt) = (key, description, salt)
        let version = PeerRecord.Version(opening: opening, salt: salt, count: 0)
        let record = PeerRecord(key: key, version: version, description, neighbors: [])
        entries = [key: Entry(record: record, distance: 0, number: numbers.next(after: nil))]
        order = [key]
        totalLength = record.length
    }

    /// The record of the local peer.
    package var own: PeerRecord {
        guard let entry = entries[key] else { preconditionFailure("A peer knows itself.") }
        return entry.record
    }

    /// The records of all reachable peers, nearest first, starting with the local peer.
    ///
    /// A neighbor's record received over its own connection takes precedence over a forwarded one.
    package var reachable: [PeerRecord] {
        order.compactMap { key in entries[key].map { selfRecord(of: key) ?? $0.record } }
    }

    /// Number of stored records, including those of unreachable peers.
    package var recordCount: Int { entries.count }

    // MARK: Events

    /// Adds a connection to an authenticated neighbor.
    package mutating func opened(_ number: UInt64, to key: [UInt8], kind: UInt8, at now: UInt64) {
        adjacentPeers[number] = Connection(number: number, key: key, kind: kind)
        connectionNumbers.insert(inOrder: number)
        connectionsByKey[key, default: []].insert(inOrder: number)
        for known in order { enqueue(known, on: number) }
        revise()
        update(at: now)
    }

    /// Removes a closed connection.
    package mutating func closed(_ number: UInt64, at now: UInt64) {
        guard let key = adjacentPeers.removeValue(forKey: number)?.key else { return }
        busyConnections.remove(number)
        connectionNumbers.removeAll { $0 == number }
        connectionsByKey[key]?.removeAll { $0 == number }
        if connectionsByKey[key]?.isEmpty == true { connectionsByKey[key] = nil }
        hasNewConnections = true
        revise()
        update(at: now)
    }

    /// Changes the description that the local peer publishes.
    package mutating func present(_ description: PeerRecord.Description, at now: UInt64) {
        self.description = description
        revise()
        update(at: now)
    }

    /// Handles records received from a neighbor.
    package mutating func receive(_ message: PresenceMessage, on number: UInt64, at now: UInt64) {
        guard adjacentPeers[number] != nil else { return }
        adjacentPeers[number]?.owes = true
        busyConnections.insert(number)
        for record in message.records { store(record, from: number, at: now) }
        update(at: now)
    }

    /// Handles the acknowledgment of the last message to a neighbor.
    package mutating func acknowledged(on number: UInt64) {
        adjacentPeers[number]?.isSender = false
        busyConnections.insert(number)
        isBusy = true
    }

    /// Performs the work that is due, such as dropping records whose retention has expired.
    package mutating func tick(at now: UInt64) {
        guard let deadline, deadline <= now else { return }
        let gone = hiddenKeys.filter { entries[$0]?.isExpired(at: now) ?? false }
        for key in gone { removeRecord(key) }
        update(at: now)
    }

    /// Time of the next scheduled action, computed from the state.
    private var nextDeadline: UInt64? {
        var deadlines: [UInt64] = overtaking.version == nil ? [] : [overtaking.from]
        for number in busyConnections {
            guard let connection = adjacentPeers[number], connection.owes else { continue }
            deadlines.append(connection.mayTakeAt)
        }
        for key in hiddenKeys {
            guard let entry = entries[key] else { continue }
            deadlines.append(entry.hiddenSince + PresenceLimits.retentionNanoseconds)
        }
        return deadlines.min()
    }

    /// Removes and returns the pending actions, in order.
    package mutating func drainActions(at now: UInt64) -> [Action] {
        guard isBusy else { return [] }
        isBusy = false
        var actions: [Action] = []
        for number in busyConnections.sorted() {
            if let connection = adjacentPeers[number], connection.owes, connection.mayTakeAt <= now
            {
                adjacentPeers[number]?.owes = false
                adjacentPeers[number]?.tookAt = now
                actions.append(.acknowledged(connection: number))
            }
            if let message = nextMessage(on: number) {
                actions.append(.send(connection: number, message))
            }
            if adjacentPeers[number]?.isBusy != true { busyConnections.remove(number) }
        }
        if hasChanged { actions.append(.changed) }
        hasChanged = false
        if let conflict = overtaking.removeConflict() { actions.append(.contested(conflict)) }
        deadline = nextDeadline
        return actions
    }

    // MARK: Records

    /// Stores a record unless a newer one is known, which is sent in reply.
    mutating func store(_ record: PeerRecord, from number: UInt64, at now: UInt64) {
        guard record.key != key else { return receiveOwn(record, from: number, at: now) }
        if adjacentPeers[number]?.key == record.key {
            hasNewConnections =
                hasNewConnections
                || adjacentPeers[number]?.selfRecord?.neighbors != record.neighbors
            adjacentPeers[number]?.selfRecord = record
            hasChanged = true
        }
        let known = entries[record.key]
        if let known, known.record.version > record.version {
            // The neighbor has an older record.
            adjacentPeers[number]?.acknowledged.remove(known.number)
            enqueue(record.key, on: number, evenHidden: true)
            return
        }
        let isNew = known?.record.version != record.version
        if isNew { put(record, at: now) }
        if let stored = entries[record.key]?.number {
            adjacentPeers[number]?.acknowledged.insert(stored)
        }
        guard isNew else { return }
        if known?.record.neighbors != record.neighbors { hasNewConnections = true }
        if known?.wasReached == true { hasChanged = true }
        if known?.distance != nil {
            // A neighbor with the older record may still consider the peer reachable.
            queueForAll(record.key, evenHidden: true)
        }
    }

    /// Stores a new record, or a new version of one.
    private mutating func put(_ record: PeerRecord, at now: UInt64) {
        let known = entries[record.key]
        let number = numbers.next(after: known?.number)
        entries[record.key] =
            known?.with(record, number) ?? Entry(record: record, hiddenSince: now, number: number)
        if known == nil { hiddenKeys.insert(record.key) }
        totalLength += record.length - (known?.record.length ?? 0)
    }

    /// Queues a record for a neighbor.
    mutating func enqueue(_ key: [UInt8], on number: UInt64, evenHidden: Bool = false) {
        adjacentPeers[number]?.enqueue(key, evenHidden: evenHidden)
        busyConnections.insert(number)
    }

    /// Queues a record for all neighbors that lack its version.
    private mutating func queueForAll(_ key: [UInt8], evenHidden: Bool = false) {
        guard let stored = entries[key]?.number, !hubs.withheld.contains(key) else { return }
        for number in adjacentPeers.keys
        where adjacentPeers[number]?.acknowledged.contains(stored) == false {
            // The hub over which the peer is reached has broadcast its record.
            if number == Self.broadcasts, hubs.distant.contains(key) { continue }
            enqueue(key, on: number, evenHidden: evenHidden)
        }
    }

    private mutating func removeRecord(_ key: [UInt8]) {
        guard let entry = entries.removeValue(forKey: key) else { return }
        if entry.wasReached { hasChanged = true }
        hiddenKeys.remove(key)
        totalLength -= entry.record.length
        defer { numbers.release(entry.number) }
        for number in adjacentPeers.keys {
            adjacentPeers[number]?.acknowledged.remove(entry.number)
            guard adjacentPeers[number]?.queued.removeValue(forKey: key) != nil else { continue }
            adjacentPeers[number]?.queue.removeAll { $0 == key }
        }
    }

    /// Publishes a newer record of the local peer if its content or its version must change.
    mutating func revise(behind version: PeerRecord.Version? = nil) {
        var neighbors = hubs.openings.mapValues { _ in HubNeighbors.kind }
        for number in connectionNumbers {
            guard neighbors.count < PresenceLimits.neighbors else { break }
            guard let key = adjacentPeers[number]?.key else { continue }
            // Of several connections to a peer, the newest one counts.
            let newest = connectionsByKey[key]?.last ?? number
            neighbors[key] = adjacentPeers[newest]?.kind
        }
        let old = own
        let record = PeerRecord(
            key: key,
            version: PeerRecord.Version(
                opening: version.map { $0.opening + 1 } ?? old.version.opening, salt: salt,
                count: old.version.count + 1),
            description,
            neighbors: neighbors.map { PeerRecord.Neighbor(key: $0.key, kind: $0.value) })
        let isOther = record.neighbors != old.neighbors || record.description != old.description
        guard isOther || version != nil else { return }
        put(record, at: 0)
        if record.neighbors != old.neighbors { hasNewConnections = true }
        if isOther { hasChanged = true }
        queueForAll(key)
    }

    /// Returns the record that a neighbor sent of itself, over the newest of its connections.
    private func selfRecord(of key: [UInt8]) -> PeerRecord? {
        guard let numbers = connectionsByKey[key] else { return nil }
        return numbers.lazy.reversed().compactMap { adjacentPeers[$0]?.selfRecord }.first
    }

    // MARK: Reachability

    mutating func update(at now: UInt64) {
        overtake(at: now)
        if hasNewConnections { walk(at: now) }
        hasNewConnections = false
        dropFarthest()
        (isBusy, deadline) = (true, nextDeadline)
    }

    /// Recomputes the peers reachable over connections that both ends list.
    private mutating func walk(at now: UInt64) {
        var shown: [[UInt8]: PeerRecord] = entries.mapValues(\.record)
        for key in entries.keys {
            if let record = selfRecord(of: key) { shown[key] = record }
        }
        var distances: [[UInt8]: Int] = [key: 0]
        var (found, next) = ([key], 0)
        var distant: Set<[UInt8]> = []
        while next < found.count {
            let near = found[next]
            next += 1
            let isDistant = distant.contains(near)
            for neighbor in shown[near]?.neighbors ?? [] where distances[neighbor.key] == nil {
                guard shown[neighbor.key]?.kind(ofConnectionWith: near) != nil else { continue }
                distances[neighbor.key] = (distances[near] ?? 0) + 1
                found.append(neighbor.key)
                if isDistant || hubs.openings[neighbor.key] != nil { distant.insert(neighbor.key) }
            }
        }
        let released = hubs.update(distant: found.filter(distant.contains))
        for key in entries.keys where distances[key] == nil && entries[key]?.distance != nil {
            entries[key]?.hiddenSince = now
            entries[key]?.distance = nil
            hiddenKeys.insert(key)
            guard let stored = entries[key]?.number else { continue }
            // Neighbors may drop the record, so it is sent again once the peer is reachable.
            for number in adjacentPeers.keys {
                adjacentPeers[number]?.acknowledged.remove(stored)
            }
        }
        for key in found {
            let isNew = entries[key]?.distance == nil
            entries[key]?.distance = distances[key]
            hiddenKeys.remove(key)
            entries[key]?.wasReached = true
            if isNew { queueForAll(key) }
        }
        for key in released { queueForAll(key) }
        order = found
        // Distances or routes may have changed even if the set of peers is the same.
        hasChanged = true
    }

    /// Enforces the limits: drops unreachable peers first, then the farthest.
    private mutating func dropFarthest() {
        func length(_ key: [UInt8]) -> Int { entries[key]?.record.length ?? 0 }
        guard
            entries.count > PresenceLimits.records || totalLength > PresenceLimits.recordBytes
        else { return }
        func distance(_ key: [UInt8], _ entry: Entry) -> Int {
            hubs.openings[key] == nil ? entry.distance ?? .max : 0
        }
        let nearest = entries.sorted { one, other in
            let (near, far) = (distance(one.key, one.value), distance(other.key, other.value))
            return near != far ? near < far : one.key.lexicographicallyPrecedes(other.key)
        }.map(\.key)
        var (kept, bytes) = (0, 0)
        while kept < min(nearest.count, PresenceLimits.records),
            bytes + length(nearest[kept]) <= PresenceLimits.recordBytes
        {
            bytes += length(nearest[kept])
            kept += 1
        }
        for key in nearest[kept...] { removeRecord(key) }
        order.removeAll { entries[$0] == nil }
        hasChanged = true
    }
}

extension LinkStateDatabase.Entry {
    fileprivate func isExpired(at now: UInt64) -> Bool {
        distance == nil && hiddenSince + PresenceLimits.retentionNanoseconds <= now
    }
}

extension [UInt64] {
    /// Inserts a number into numbers in ascending order.
    fileprivate mutating func insert(inOrder number: UInt64) {
        insert(number, at: (lastIndex { $0 < number } ?? -1) + 1)
    }
}
