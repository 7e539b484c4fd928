import SheafSync
import Testing

/// The link-state database of a hub: broadcasts to and from other hubs.
struct HubNeighborTests {
    private static let second: UInt64 = 1_000_000_000
    private static let hub = key(0xFFFF)

    private static func key(_ number: Int) -> [UInt8] {
        [UInt8(number >> 8), UInt8(number & 255)] + Array(repeating: 7, count: 30)
    }

    /// A hub that knows another one.
    private var database = LinkStateDatabase(
        key(0), PeerRecord.Description(name: "hub"), opening: 1, salt: 1)
    private var now: UInt64 = second

    init() { database.setHubs([Self.hub: 1], at: now) }

    /// Returns the record of a peer with these neighbors.
    private func record(
        _ key: [UInt8], _ count: UInt64, neighbors: [[UInt8]], metadata: String = ""
    ) -> PeerRecord {
        PeerRecord(
            key: key, version: .init(opening: 5, salt: 1, count: count),
            PeerRecord.Description(name: "peer", metadata: Array(metadata.utf8)),
            neighbors: neighbors.map { PeerRecord.Neighbor(key: $0, kind: 0) })
    }

    /// Receives the records of the other hub and of its clients.
    private mutating func receive(clients: Range<Int>, _ count: UInt64) {
        let keys = clients.map(Self.key)
        var records = [record(Self.hub, count, neighbors: [Self.key(0)] + keys)]
        records += keys.map { record($0, 1, neighbors: [Self.hub]) }
        database.receive(broadcast: PresenceMessage(records), at: now)
        #expect(database.violation == nil)
    }

    /// Connects a client, which sends its record.
    private mutating func connect(_ number: UInt64, _ key: [UInt8]) {
        database.opened(number, to: key, kind: 1, at: now)
        let own = record(key, number, neighbors: [Self.key(0)])
        database.receive(PresenceMessage([own]), on: number, at: now)
        #expect(database.violation == nil)
    }

    /// Returns the keys of all records that are sent over a connection, which acknowledges them.
    private mutating func sent(on wanted: UInt64) -> [[UInt8]] {
        var keys: [[UInt8]] = []
        while true {
            let actions = database.drainActions(at: now)
            var numbers: [UInt64] = []
            for case .send(let number, let message) in actions {
                numbers.append(number)
                if number == wanted { keys += message.records.map(\.key) }
            }
            if numbers.isEmpty { return keys }
            for number in numbers where number != LinkStateDatabase.broadcasts {
                database.acknowledged(on: number)
            }
            if !numbers.contains(where: { $0 != LinkStateDatabase.broadcasts }) { return keys }
        }
    }

    @Test mutating func `a client gets the records of hubs, and 256 of their clients`() {
        connect(1, Self.key(1))
        receive(clients: 100..<400, 1)
        let first = sent(on: 1)
        #expect(first.contains(Self.hub))
        let shown = Set(first).subtracting([Self.key(0), Self.key(1), Self.hub])
        #expect(shown.count == 256 && first.count == Set(first).count)
        #expect(database.reachable.count == 303)
        // A client that connects later gets the same ones.
        connect(2, Self.key(2))
        #expect(Set(sent(on: 2)).intersection((100..<400).map(Self.key)) == shown)
        // Those of others follow when some are gone.
        receive(clients: 110..<400, 2)
        let next = Set(sent(on: 1)).subtracting([Self.hub, Self.key(2)])
        let gone = shown.intersection((100..<110).map(Self.key))
        #expect(gone.count == next.count && next.isDisjoint(with: shown))
        // A change is sent if the client has the record.
        let changed = [100 + 20, 399].map { record(Self.key($0), 2, neighbors: [Self.hub]) }
        database.receive(broadcast: PresenceMessage(changed), at: now)
        let known = shown.union(next)
        #expect(
            Set(sent(on: 1)) == known.intersection(changed.map(\.key)))
    }

    @Test mutating func `records beyond the limits neither displace others nor come and go`() {
        for number in 1...100 { connect(UInt64(number), Self.key(number)) }
        receive(clients: 200..<1_200, 1)
        _ = sent(on: 1)
        #expect(database.recordCount == PresenceLimits.records)
        let reachable = Set(database.reachable.map(\.key))
        #expect(reachable.contains(Self.hub) && reachable.isSuperset(of: (1...100).map(Self.key)))
        now += Self.second
        receive(clients: 200..<1_200, 1)
        #expect(database.drainActions(at: now).isEmpty)
        // Those of own clients precede.
        for number in 101...150 { connect(UInt64(number), Self.key(number)) }
        #expect(database.recordCount == PresenceLimits.records)
        let later = Set(database.reachable.map(\.key))
        #expect(later.contains(Self.hub) && later.isSuperset(of: (1...150).map(Self.key)))
    }

    @Test mutating func `a hub broadcasts once a second, only its own clients, and repeats them`() {
        receive(clients: 100..<110, 1)
        for number in 1...10 { connect(UInt64(number), Self.key(number)) }
        var broadcasts: [(time: UInt64, keys: Set<[UInt8]>)] = []
        for step in 0..<300 {
            // For ten seconds, the clients change all the time.
            if step < 100 {
                let key = Self.key(1 + step % 10)
                let changed = record(key, UInt64(100 + step), neighbors: [Self.key(0)])
                database.receive(PresenceMessage([changed]), on: UInt64(1 + step % 10), at: now)
            }
            for case .send(LinkStateDatabase.broadcasts, let message) in database.drainActions(
                at: now)
            {
                broadcasts.append((now, Set(message.records.map(\.key))))
            }
            now += Self.second / 10
            database.tick(at: now)
            database.continueBroadcasts(at: now)
        }
        let all = Set((0...10).map(Self.key))
        #expect(broadcasts.allSatisfy { $0.keys.isSubset(of: all) })
        let busy = broadcasts.count { $0.time < 11 * Self.second }
        #expect(busy >= 9 && busy <= 12)
        #expect(broadcasts.count - busy <= 4)
        #expect(broadcasts.count { $0.keys == all } >= 3)
    }

    @Test mutating func `an older record in a broadcast is answered by a broadcast`() {
        receive(clients: 100..<101, 7)
        _ = database.drainActions(at: now)
        now += 2 * Self.second
        database.continueBroadcasts(at: now)
        _ = database.drainActions(at: now)
        let older = record(Self.hub, 6, neighbors: [])
        database.receive(broadcast: PresenceMessage([older]), at: now)
        now += 2 * Self.second
        database.continueBroadcasts(at: now)
        var answered: [PeerRecord] = []
        for case .send(LinkStateDatabase.broadcasts, let message) in database.drainActions(at: now)
        {
            answered += message.records
        }
        #expect(answered.contains { $0.key == Self.hub && $0.version.count == 7 })
    }

    /// Returns the broadcasts that are sent now.
    private mutating func broadcasts() -> [PresenceMessage] {
        database.drainActions(at: now).compactMap { action in
            guard case .send(LinkStateDatabase.broadcasts, let message) = action else { return nil }
            return message
        }
    }

    @Test(arguments: [0, 1])
    mutating func `a broadcast has at most 65,400 bytes of records`(excess: Int) {
        for number in 1...16 { connect(UInt64(number), Self.key(number)) }
        // A record has 128 bytes, its texts, and 33 bytes for each neighbor.
        let bytes = 65_400 + excess - database.own.length - 16 * (128 + 4 + 33)
        for number in 1...16 {
            let length = number < 16 ? bytes / 16 : bytes - 15 * (bytes / 16)
            let text = String(repeating: "a", count: length - 8)
            let changed = record(
                Self.key(number), 100, neighbors: [Self.key(0)], metadata: "{\"a\":\"\(text)\"}")
            database.receive(PresenceMessage([changed]), on: UInt64(number), at: now)
        }
        let first = broadcasts()
        #expect(first.map(\.records.count) == [17 - excess])
        #expect(first.allSatisfy { $0.bytes.count <= 65_536 })
        now += Self.second
        database.continueBroadcasts(at: now)
        let second = broadcasts()
        #expect(second.map(\.records.count) == (excess == 0 ? [] : [1]))
    }
}
