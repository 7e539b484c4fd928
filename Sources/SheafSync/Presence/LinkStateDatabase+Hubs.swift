/// The other hubs of a hub, which are neighbors without a connection (`format-spec/hub.md`).
///
/// Broadcasts take the place of messages to them. One connection that no peer has stands for all
/// hubs: it has the records to broadcast. A broadcast that is lost is not missed, because all
/// records are repeated.
extension LinkStateDatabase {
    /// The number of the connection that stands for all other hubs.
    package static let broadcasts = UInt64.max

    /// The other hubs, and the peers that are reached over them.
    struct HubNeighbors: Sendable {
        /// The transport of connections between hubs (`format-spec/sync.md`, table 23).
        static let kind: UInt8 = 0

        /// The openings of the live hubs, by key.
        fileprivate(set) var openings: [[UInt8]: UInt64] = [:]
        /// Keys of the peers that are reached over another hub, including the hubs.
        private(set) var distant: Set<[UInt8]> = []
        /// Keys of those whose records are not sent to connected peers: there are too many.
        private(set) var withheld: Set<[UInt8]> = []
        fileprivate var continuedAt: UInt64 = 0
        fileprivate var repeatedAt: UInt64 = 0

        /// Records the peers that are reached over other hubs, the nearest first.
        ///
        /// Peers that are shown remain so. Returns those that are not withheld any more.
        mutating func update(distant found: [[UInt8]]) -> [[UInt8]] {
            let clients = found.filter { openings[$0] == nil }
            var shown = distant.subtracting(withheld).intersection(clients)
            for key in clients where shown.count < PresenceLimits.distantPeers { shown.insert(key) }
            let before = withheld
            (distant, withheld) = (Set(found), Set(clients).subtracting(shown))
            return before.subtracting(withheld).sorted { $0.lexicographicallyPrecedes($1) }
        }
    }

    /// Sets the other hubs that are live, by key, with the numbers of their openings.
    ///
    /// A hub that was opened again knows no records, so all are repeated.
    package mutating func setHubs(_ live: [[UInt8]: UInt64], at now: UInt64) {
        let first = live.sorted { $0.key.lexicographicallyPrecedes($1.key) }
            .prefix(PresenceLimits.hubs)
        let openings = Dictionary(uniqueKeysWithValues: first.map { ($0.key, $0.value) })
        guard openings != hubs.openings else { return }
        let isNew = openings.contains { hubs.openings[$0.key] != $0.value }
        hubs.openings = openings
        let number = Self.broadcasts
        if openings.isEmpty {
            adjacentPeers[number] = nil
        } else if adjacentPeers[number] == nil {
            adjacentPeers[number] = Connection(number: number, key: [], kind: HubNeighbors.kind)
        }
        if isNew { queueForHubs(at: now) }
        hasNewConnections = true
        revise()
        update(at: now)
    }

    /// Permits the next broadcast if the interval has passed, and repeats the records.
    package mutating func continueBroadcasts(at now: UInt64) {
        guard let connection = adjacentPeers[Self.broadcasts],
            now >= hubs.continuedAt + PresenceLimits.broadcastInterval
        else { return }
        hubs.continuedAt = now
        if connection.queue.isEmpty, now >= hubs.repeatedAt + PresenceLimits.repetitionInterval {
            queueForHubs(at: now)
        }
        acknowledged(on: Self.broadcasts)
    }

    /// Queues the records of all peers that are not reached over another hub.
    private mutating func queueForHubs(at now: UInt64) {
        hubs.repeatedAt = now
        for key in order where !hubs.distant.contains(key) {
            guard let stored = entries[key]?.number else { continue }
            adjacentPeers[Self.broadcasts]?.acknowledged.remove(stored)
            enqueue(key, on: Self.broadcasts)
        }
    }

    /// Handles records that another hub has broadcast.
    ///
    /// Beyond the limits new ones are ignored: they are repeated, and would come and go.
    package mutating func receive(broadcast message: PresenceMessage, at now: UInt64) {
        for record in message.records {
            let hasRoom =
                recordCount < PresenceLimits.records
                && totalLength + record.length <= PresenceLimits.recordBytes
            guard hasRoom || entries[record.key] != nil || hubs.openings[record.key] != nil else {
                continue
            }
            store(record, from: Self.broadcasts, at: now)
        }
        update(at: now)
    }
}
