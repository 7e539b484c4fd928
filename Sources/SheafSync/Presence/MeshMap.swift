/// What one peer knows of the mesh: a record of each peer that it can reach, and who has to hear of which.
///
/// A machine: it is told of connections, of what neighbors say and of time, and returns what to say. Records
/// flow over all connections, and of each peer the newest one stays. A connection between two peers counts
/// when both name it. What changes while a neighbor is still busy with the message before goes as the newest
/// only, so a message for each neighbor is all that is ever on its way.
package struct MeshMap: Sendable {
    /// What somebody else has to do.
    package enum Action: Equatable, Sendable {
        /// To say this to a neighbor; nothing more until `taken(on:)`.
        case tell(link: UInt64, PresenceMessage)
        /// To say that the last message of a neighbor was taken.
        case took(link: UInt64)
        /// What `reachable` tells has changed.
        case changed
        /// Another peer has the key of this one, and says this of itself; or somebody lies.
        case contested(PeerRecord)
    }

    struct Entry: Sendable {
        var record: PeerRecord
        /// Over how many connections the peer can be reached; none where it cannot.
        var distance: Int?
        /// Since when it cannot.
        var hiddenSince: UInt64 = 0
    }

    struct Link: Sendable {
        let number: UInt64
        let key: [UInt8]
        let kind: UInt8
        /// What the neighbor has said of itself over this very connection.
        var said: PeerRecord?
        /// Which versions the neighbor has, of those that are here as well.
        var known: [[UInt8]: PeerRecord.Version] = [:]
        /// Whose records it has to hear of, in this order, and whether also where they cannot be reached.
        var queue: [[UInt8]] = []
        var queued: [[UInt8]: Bool] = [:]
        /// Whether a message is on its way.
        var isTelling = false
        /// Whether the neighbor waits to hear that its message was taken, and when it heard that last.
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
    package private(set) var portrait: PeerRecord.Portrait
    private(set) var entries: [[UInt8]: Entry]
    var links: [UInt64: Link] = [:]
    /// Those who can be reached, the nearest first.
    private var order: [[UInt8]]
    private var hasNewConnections = false
    private var hasChanged = false
    /// Whether there may be something to do but for what time brings.
    private var isBusy = true
    /// When time matters next.
    package private(set) var deadline: UInt64?
    var overtaking = Overtaking()

    /// A mesh of one peer, which was opened at a time, in milliseconds since 1970.
    package init(
        _ key: [UInt8], _ portrait: PeerRecord.Portrait, opening: UInt64, salt: UInt64
    ) {
        (self.key, self.portrait, self.salt) = (key, portrait, salt)
        let version = PeerRecord.Version(opening: opening, salt: salt, count: 0)
        entries = [
            key: Entry(
                record: PeerRecord(key: key, version: version, portrait, neighbors: []), distance: 0
            )
        ]
        order = [key]
    }

    /// What this peer says of itself.
    package var own: PeerRecord {
        guard let entry = entries[key] else { preconditionFailure("A peer knows itself.") }
        return entry.record
    }

    /// The records of all who can be reached, the nearest first: this peer is the first of all.
    ///
    /// What a neighbor has said of itself over its own connection comes before what others tell of it.
    package var reachable: [PeerRecord] {
        let said = said
        return order.compactMap { key in entries[key].map { said[key] ?? $0.record } }
    }

    /// How many records are kept, also of those who cannot be reached any more.
    package var recordCount: Int { entries.count }

    // MARK: What happens

    /// A neighbor is there, and who that is was proven.
    package mutating func opened(_ number: UInt64, to key: [UInt8], kind: UInt8, at now: UInt64) {
        links[number] = Link(number: number, key: key, kind: kind)
        for known in order { links[number]?.enqueue(known) }
        revise()
        settle(at: now)
    }

    /// A connection is no more.
    package mutating func closed(_ number: UInt64, at now: UInt64) {
        guard links.removeValue(forKey: number) != nil else { return }
        hasNewConnections = true
        revise()
        settle(at: now)
    }

    /// This peer says something else of itself from now on.
    package mutating func present(_ portrait: PeerRecord.Portrait, at now: UInt64) {
        self.portrait = portrait
        revise()
        settle(at: now)
    }

    /// A neighbor has told some records.
    package mutating func heard(_ message: PresenceMessage, on number: UInt64, at now: UInt64) {
        guard links[number] != nil else { return }
        links[number]?.owes = true
        for record in message.records { take(record, from: number, at: now) }
        settle(at: now)
    }

    /// A neighbor has taken what it was told last.
    package mutating func taken(on number: UInt64) {
        links[number]?.isTelling = false
        isBusy = true
    }

    /// Notes that time goes by.
    package mutating func tick(at now: UInt64) {
        guard let deadline, deadline <= now else { return }
        let gone = entries.filter { $0.value.isForgotten(at: now) }.map(\.key)
        for key in gone { forget(key) }
        settle(at: now)
    }

    /// When time matters next; looked for when something has changed, and not each time somebody asks.
    private var nextDeadline: UInt64? {
        var deadlines: [UInt64] = overtaking.version == nil ? [] : [overtaking.from]
        for link in links.values where link.owes { deadlines.append(link.mayTakeAt) }
        for entry in entries.values where entry.distance == nil {
            deadlines.append(entry.hiddenSince + PresenceLimits.forgettingNanoseconds)
        }
        return deadlines.min()
    }

    /// What to do now, in this order; each is told once.
    package mutating func takeActions(at now: UInt64) -> [Action] {
        guard isBusy else { return [] }
        isBusy = false
        var actions: [Action] = []
        for number in links.keys.sorted() {
            if let link = links[number], link.owes, link.mayTakeAt <= now {
                links[number]?.owes = false
                links[number]?.tookAt = now
                actions.append(.took(link: number))
            }
            if let message = nextMessage(on: number) {
                actions.append(.tell(link: number, message))
            }
        }
        if hasChanged { actions.append(.changed) }
        hasChanged = false
        if let rival = overtaking.takeRival() { actions.append(.contested(rival)) }
        deadline = nextDeadline
        return actions
    }

    // MARK: Records

    private mutating func take(_ record: PeerRecord, from number: UInt64, at now: UInt64) {
        guard record.key != key else { return takeOwn(record, from: number, at: now) }
        if links[number]?.key == record.key {
            hasNewConnections =
                hasNewConnections || links[number]?.said?.neighbors != record.neighbors
            links[number]?.said = record
            hasChanged = true
        }
        let known = entries[record.key]
        if let known, known.record.version > record.version {
            // The neighbor does not know yet what is known here.
            links[number]?.known[record.key] = record.version
            links[number]?.enqueue(record.key, evenHidden: true)
            return
        }
        links[number]?.known[record.key] = record.version
        guard known?.record.version != record.version else { return }
        entries[record.key] = Entry(
            record: record, distance: known?.distance, hiddenSince: known?.hiddenSince ?? now)
        if known?.record.neighbors != record.neighbors { hasNewConnections = true }
        if known?.distance != nil {
            hasChanged = true
            // Also where it is not reached by what it says now: those who believe the older one would go on.
            tellAll(record.key, evenHidden: true)
        }
    }

    /// Has all neighbors hear of a record who do not have it.
    private mutating func tellAll(_ key: [UInt8], evenHidden: Bool = false) {
        guard let version = entries[key]?.record.version else { return }
        for number in links.keys where links[number]?.known[key] != version {
            links[number]?.enqueue(key, evenHidden: evenHidden)
        }
    }

    private mutating func forget(_ key: [UInt8]) {
        entries[key] = nil
        for number in links.keys {
            links[number]?.known[key] = nil
            guard links[number]?.queued.removeValue(forKey: key) != nil else { continue }
            links[number]?.queue.removeAll { $0 == key }
        }
    }

    /// Makes a newer record of this peer, where something has changed.
    mutating func revise(behind version: PeerRecord.Version? = nil) {
        var neighbors: [[UInt8]: UInt8] = [:]
        for link in links.values.sorted(by: { $0.number < $1.number })
        where neighbors[link.key] != nil || neighbors.count < PresenceLimits.neighbors {
            neighbors[link.key] = link.kind
        }
        let old = own
        let record = PeerRecord(
            key: key,
            version: PeerRecord.Version(
                opening: version.map { $0.opening + 1 } ?? old.version.opening, salt: salt,
                count: old.version.count + 1),
            portrait,
            neighbors: neighbors.map { PeerRecord.Neighbor(key: $0.key, kind: $0.value) })
        let isOther = record.neighbors != old.neighbors || record.portrait != old.portrait
        guard isOther || version != nil else { return }
        entries[key]?.record = record
        if record.neighbors != old.neighbors { hasNewConnections = true }
        if isOther { hasChanged = true }
        tellAll(key)
    }

    /// What neighbors have said of themselves.
    private var said: [[UInt8]: PeerRecord] {
        var said: [[UInt8]: PeerRecord] = [:]
        for link in links.values.sorted(by: { $0.number < $1.number }) {
            if let record = link.said { said[link.key] = record }
        }
        return said
    }

    // MARK: Who can be reached

    private mutating func settle(at now: UInt64) {
        overtake(at: now)
        if hasNewConnections { walk(at: now) }
        hasNewConnections = false
        dropFarthest()
        (isBusy, deadline) = (true, nextDeadline)
    }

    /// Finds out anew who can be reached over connections that both ends name.
    private mutating func walk(at now: UInt64) {
        var shown: [[UInt8]: PeerRecord] = entries.mapValues(\.record)
        for (key, record) in said where entries[key] != nil { shown[key] = record }
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
            // They may forget it; it is told again when it can be reached.
            for number in links.keys { links[number]?.known[key] = nil }
        }
        for key in found {
            let isNew = entries[key]?.distance == nil
            entries[key]?.distance = distances[key]
            if isNew { tellAll(key) }
        }
        order = found
        // Also where the same can be reached in another way.
        hasChanged = true
    }

    /// Keeps no more than is allowed: those who cannot be reached go first, then the farthest.
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
        for key in nearest[kept...] { forget(key) }
        order.removeAll { entries[$0] == nil }
        hasChanged = true
    }

    // MARK: Messages

    private mutating func nextMessage(on number: UInt64) -> PresenceMessage? {
        guard var link = links[number], !link.isTelling, !link.queue.isEmpty else { return nil }
        var (records, length, count): ([PeerRecord], Int, Int) = ([], 8, 0)
        for key in link.queue {
            let entry = entries[key]
            let isTold = entry?.distance != nil || link.queued[key] == true
            if let record = entry?.record, isTold, link.known[key] != record.version {
                guard length + record.length <= PresenceLimits.messageLength else { break }
                length += record.length
                link.known[key] = record.version
                records.append(record)
            }
            link.queued[key] = nil
            count += 1
        }
        link.queue.removeFirst(count)
        link.isTelling = !records.isEmpty
        links[number] = link
        return records.isEmpty ? nil : PresenceMessage(records)
    }
}

extension MeshMap.Entry {
    fileprivate func isForgotten(at now: UInt64) -> Bool {
        distance == nil && hiddenSince + PresenceLimits.forgettingNanoseconds <= now
    }
}

extension MeshMap.Link {
    fileprivate var mayTakeAt: UInt64 {
        tookAt.map { $0 + PresenceLimits.paceNanoseconds } ?? 0
    }
}
