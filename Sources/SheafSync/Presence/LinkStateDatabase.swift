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
    }

    package struct Connection: Sendable {
        let number: UInt64
        let key: [UInt8]
        let kind: UInt8
        /// The neighbor's own record, received over this connection.
        var selfRecord: PeerRecord?
        /// Versions of stored records that the neighbor is known to have.
        var acknowledgedVersions: [[UInt8]: PeerRecord.Version] = [:]
        /// Keys of the records to send, in order.
        var queue: [[UInt8]] = []
        /// The queued keys; true for a record that is sent even if its peer is unreachable.
        var queued: [[UInt8]: Bool] = [:]
        /// Whether a message is unacknowledged.
        var isSender = false
        /// Whether the last message of the neighbor must still be acknowledged.
        var owes = false
        var tookAt: UInt64?

        mutating func enqueue(_ key: [UInt8], evenHidden: Bool = false) {
            if queued[key] == nil { queue.append(key) }
            queued[key] = queued[key] == true || evenHidden
        }
    }

    /// The key of this peer.
    package let key: [UInt8]
    let salt: UInt64
    package private(set) var description: PeerRecord.Description
    private(set) var entries: [[UInt8]: Entry]
    var adjacentPeers: [UInt64: Connection] = [:]
    /// Keys of the reachable peers, nearest first.
    private var order: [[UInt8]]
    private var hasNewConnections = false
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
        entries = [
            key: Entry(
                record: PeerRecord(key: key, version: version, description, neighbors: []),
                distance: 0
            )
        ]
        order = [key]
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
        let direct = selfRecords
        return order.compactMap { key in entries[key].map { direct[key] ?? $0.record } }
    }

    /// Number of stored records, including those of unreachable peers.
    package var recordCount: Int { entries.count }

    // MARK: Events

    /// Adds a connection to an authenticated neighbor.
    package mutating func opened(_ number: UInt64, to key: [UInt8], kind: UInt8, at now: UInt64) {
        adjacentPeers[number] = Connection(number: number, key: key, kind: kind)
        for known in order { adjacentPeers[number]?.enqueue(known) }
        revise()
        update(at: now)
    }

    /// Removes a closed connection.
    package mutating func closed(_ number: UInt64, at now: UInt64) {
        guard adjacentPeers.removeValue(forKey: number) != nil else { return }
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
        for record in message.records { store(record, from: number, at: now) }
        update(at: now)
    }

    /// Handles the acknowledgment of the last message to a neighbor.
    package mutating func acknowledged(on number: UInt64) {
        adjacentPeers[number]?.isSender = false
        isBusy = true
    }

    /// Performs the work that is due, such as dropping records whose retention has expired.
    package mutating func tick(at now: UInt64) {
        guard let deadline, deadline <= now else { return }
        let gone = entries.filter { $0.value.isExpired(at: now) }.map(\.key)
        for key in gone { removeRecord(key) }
        update(at: now)
    }

    /// Time of the next scheduled action, computed from the state.
    private var nextDeadline: UInt64? {
        var deadlines: [UInt64] = overtaking.version == nil ? [] : [overtaking.from]
        for connection in adjacentPeers.values where connection.owes {
            deadlines.append(connection.mayTakeAt)
        }
        for entry in entries.values where entry.distance == nil {
            deadlines.append(entry.hiddenSince + PresenceLimits.retentionNanoseconds)
        }
        return deadlines.min()
    }

    /// Removes and returns the pending actions, in order.
    package mutating func drainActions(at now: UInt64) -> [Action] {
        guard isBusy else { return [] }
        isBusy = false
        var actions: [Action] = []
        for number in adjacentPeers.keys.sorted() {
            if let connection = adjacentPeers[number], connection.owes, connection.mayTakeAt <= now
            {
                adjacentPeers[number]?.owes = false
                adjacentPeers[number]?.tookAt = now
                actions.append(.acknowledged(connection: number))
            }
            if let message = nextMessage(on: number) {
                actions.append(.send(connection: number, message))
            }
        }
        if hasChanged { actions.append(.changed) }
        hasChanged = false
        if let conflict = overtaking.removeConflict() { actions.append(.contested(conflict)) }
        deadline = nextDeadline
        return actions
    }

    // MARK: Records

    private mutating func store(_ record: PeerRecord, from number: UInt64, at now: UInt64) {
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
            adjacentPeers[number]?.acknowledgedVersions[record.key] = record.version
            adjacentPeers[number]?.enqueue(record.key, evenHidden: true)
            return
        }
        adjacentPeers[number]?.acknowledgedVersions[record.key] = record.version
        guard known?.record.version != record.version else { return }
        entries[record.key] = Entry(
            record: record, distance: known?.distance, hiddenSince: known?.hiddenSince ?? now,
            wasReached: known?.wasReached ?? false)
        if known?.record.neighbors != record.neighbors { hasNewConnections = true }
        if known?.wasReached == true { hasChanged = true }
        if known?.distance != nil {
            // A neighbor with the older record may still consider the peer reachable.
            queueForAll(record.key, evenHidden: true)
        }
    }

    /// Queues a record for all neighbors that lack its version.
    private mutating func queueForAll(_ key: [UInt8], evenHidden: Bool = false) {
        guard let version = entries[key]?.record.version else { return }
        for number in adjacentPeers.keys
        where adjacentPeers[number]?.acknowledgedVersions[key] != version {
            adjacentPeers[number]?.enqueue(key, evenHidden: evenHidden)
        }
    }

    private mutating func removeRecord(_ key: [UInt8]) {
        guard let entry = entries.removeValue(forKey: key) else { return }
        if entry.wasReached { hasChanged = true }
        for number in adjacentPeers.keys {
            adjacentPeers[number]?.acknowledgedVersions[key] = nil
            guard adjacentPeers[number]?.queued.removeValue(forKey: key) != nil else { continue }
            adjacentPeers[number]?.queue.removeAll { $0 == key }
        }
    }

    /// Publishes a newer record of the local peer if its content or its version must change.
    mutating func revise(behind version: PeerRecord.Version? = nil) {
        var neighbors: [[UInt8]: UInt8] = [:]
        for connection in adjacentPeers.values.sorted(by: { $0.number < $1.number })
        where neighbors[connection.key] != nil || neighbors.count < PresenceLimits.neighbors {
            neighbors[connection.key] = connection.kind
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
        entries[key]?.record = record
        if record.neighbors != old.neighbors { hasNewConnections = true }
        if isOther { hasChanged = true }
        queueForAll(key)
    }

    /// Records that neighbors sent of themselves, by key.
    private var selfRecords: [[UInt8]: PeerRecord] {
        var direct: [[UInt8]: PeerRecord] = [:]
        for connection in adjacentPeers.values.sorted(by: { $0.number < $1.number }) {
            if let record = connection.selfRecord { direct[connection.key] = record }
        }
        return direct
    }

    // MARK: Reachability

    private mutating func update(at now: UInt64) {
        overtake(at: now)
        if hasNewConnections { walk(at: now) }
        hasNewConnections = false
        dropFarthest()
        (isBusy, deadline) = (true, nextDeadline)
    }

    /// Recomputes the peers reachable over connections that both ends list.
    private mutating func walk(at now: UInt64) {
        var shown: [[UInt8]: PeerRecord] = entries.mapValues(\.record)
        for (key, record) in selfRecords where entries[key] != nil { shown[key] = record }
        var distances: [[UInt8]: Int] = [key: 0]
        var (found, next) = ([key], 0)
        while next < found.count {
            let near = found[next]
            next += 1
            for neighbor in shown[near]?.neighbors ?? [] where distances[neighbor.key] == nil {
                guard shown[neighbor.key]?.kind(ofConnectionWith: near) != nil else { continue }
                distances[neighbor.key] = (distances[near] ?? 0) + 1
                found.append(neighbor.key)
            }
        }
        for key in entries.keys where distances[key] == nil && entries[key]?.distance != nil {
            entries[key]?.hiddenSince = now
            entries[key]?.distance = nil
            // Neighbors may drop the record, so it is sent again once the peer is reachable.
            for number in adjacentPeers.keys {
                adjacentPeers[number]?.acknowledgedVersions[key] = nil
            }
        }
        for key in found {
            let isNew = entries[key]?.distance == nil
            entries[key]?.distance = distances[key]
            entries[key]?.wasReached = true
            if isNew { queueForAll(key) }
        }
        order = found
        // Distances or routes may have changed even if the set of peers is the same.
        hasChanged = true
    }

    /// Enforces the limits: drops unreachable peers first, then the farthest.
    private mutating func dropFarthest() {
        func length(_ key: [UInt8]) -> Int { entries[key]?.record.length ?? 0 }
        let total = entries.keys.reduce(0) { $0 + length($1) }
        guard
            entries.count > PresenceLimits.records || total > PresenceLimits.recordBytes
        else { return }
        let nearest = entries.sorted { one, other in
            let (near, far) = (one.value.distance ?? .max, other.value.distance ?? .max)
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

    // MARK: Messages

    private mutating func nextMessage(on number: UInt64) -> PresenceMessage? {
        guard var connection = adjacentPeers[number], !connection.isSender,
            !connection.queue.isEmpty
        else {
            return nil
        }
        var (records, length, count): ([PeerRecord], Int, Int) = ([], 8, 0)
        for key in connection.queue {
            let entry = entries[key]
            let isKnown = entry?.distance != nil || connection.queued[key] == true
            if let record = entry?.record, isKnown,
                connection.acknowledgedVersions[key] != record.version
            {
                guard length + record.length <= PresenceLimits.messageLength else { break }
                length += record.length
                connection.acknowledgedVersions[key] = record.version
                records.append(record)
            }
            connection.queued[key] = nil
            count += 1
        }
        connection.queue.removeFirst(count)
        connection.isSender = !records.isEmpty
        adjacentPeers[number] = connection
        return records.isEmpty ? nil : PresenceMessage(records)
    }
}

extension LinkStateDatabase.Entry {
    fileprivate func isExpired(at now: UInt64) -> Bool {
        distance == nil && hiddenSince + PresenceLimits.retentionNanoseconds <= now
    }
}

extension LinkStateDatabase.Connection {
    fileprivate var mayTakeAt: UInt64 {
        tookAt.map { $0 + PresenceLimits.acknowledgmentInterval } ?? 0
    }
}
