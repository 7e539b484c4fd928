import SheafSync
import Testing

/// The length of the broadcasts in which hubs send the records of their clients.
struct BroadcastLengthTests {
    private static let second: UInt64 = 1_000_000_000

    private static func key(_ number: Int) -> [UInt8] {
        [UInt8(number)] + Array(repeating: 7, count: 31)
    }

    /// A hub with sixteen clients that knows another hub.
    private var database = LinkStateDatabase(
        key(0), PeerRecord.Description(name: "hub"), opening: 1, salt: 1)
    private var now: UInt64 = second

    init() {
        database.setHubs([Self.key(99): 1], at: now)
        for number in 1...16 {
            database.opened(UInt64(number), to: Self.key(number), kind: 1, at: now)
            receive(number, version: 1, metadata: number < 16 ? 4_096 : 0)
        }
    }

    /// Receives the record of a client, with metadata of a length.
    private mutating func receive(_ number: Int, version: UInt64, metadata length: Int) {
        let record = PeerRecord(
            key: Self.key(number), version: .init(opening: 5, salt: 1, count: version),
            PeerRecord.Description(metadata: [UInt8](repeating: 32, count: length)),
            neighbors: [PeerRecord.Neighbor(key: Self.key(0), kind: 0)])
        database.receive(PresenceMessage([record]), on: UInt64(number), at: now)
    }

    /// Returns the records of each broadcast in a time in which all of them are repeated.
    private mutating func broadcasts() -> [[PeerRecord]] {
        var found: [[PeerRecord]] = []
        for _ in 0..<25 {
            now += Self.second
            database.tick(at: now)
            database.continueBroadcasts(at: now)
            for case .send(LinkStateDatabase.broadcasts, let message) in database.drainActions(
                at: now)
            {
                found.append(message.records)
            }
        }
        return found
    }

    /// The length that limits count, which is at least that of the encoded records.
    private func length(_ records: [PeerRecord]) -> Int { records.reduce(8) { $0 + $1.length } }

    @Test mutating func `a broadcast has records up to a length of 65,408 bytes`() throws {
        let shorter = broadcasts()
        let whole = try #require(shorter.first { $0.count == 17 })
        let room = 65_408 - length(whole)
        #expect((1...4_096).contains(room))
        for (index, (metadata, isWhole)) in [(room, true), (room + 1, false)].enumerated() {
            receive(16, version: UInt64(index) + 2, metadata: metadata)
            _ = broadcasts()
            let found = broadcasts()
            #expect(found.contains { $0.count == 17 } == isWhole)
            var keys: Set<[UInt8]> = []
            for records in found {
                keys.formUnion(records.map(\.key))
                #expect(length(records) <= 65_408)
            }
            #expect(keys.count == 17)
        }
    }
}
