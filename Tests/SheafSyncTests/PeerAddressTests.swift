import SheafSync
import SheafTestSupport
import Testing

/// The addresses that peers publish in their records, and how long others know them.
struct PeerAddressTests {
    private static let second: UInt64 = 1_000_000_000

    private func address(_ last: UInt8, port: UInt16 = 4_120) throws -> PeerRecord.Address {
        try #require(PeerRecord.Address([10, 9, 1, last], port: port))
    }

    private func record(
        _ index: Int, count: UInt64 = 1, near: [Int], _ addresses: [PeerRecord.Address]
    ) -> PeerRecord {
        PeerRecord(
            key: PresenceScene.key(index),
            version: PeerRecord.Version(opening: 1, salt: 1, count: count),
            PeerRecord.Description(addresses: addresses),
            neighbors: near.map { PeerRecord.Neighbor(key: PresenceScene.key($0), kind: 2) })
    }

    @Test func `addresses that other machines cannot reach are none`() {
        let refused: [[UInt8]] = [
            [], [10, 0, 0], [0, 0, 0, 0], [0, 1, 2, 3], [127, 0, 0, 1], [127, 9, 9, 9],
            [169, 254, 1, 1], [224, 0, 0, 251], [239, 1, 1, 1], [255, 255, 255, 255],
            [UInt8](repeating: 0, count: 16), [UInt8](repeating: 0, count: 15) + [1],
            [UInt8](repeating: 0, count: 10) + [255, 255, 10, 0, 0, 1],
            [0xFE, 0x80] + [UInt8](repeating: 1, count: 14),
            [0xFE, 0xBF] + [UInt8](repeating: 1, count: 14),
            [0xFF, 0x02] + [UInt8](repeating: 1, count: 14),
        ]
        for bytes in refused { #expect(PeerRecord.Address(bytes, port: 1) == nil, "\(bytes)") }
        #expect(PeerRecord.Address([10, 0, 0, 1], port: 0) == nil)
        let allowed: [[UInt8]] = [
            [10, 0, 0, 1], [192, 168, 0, 1], [169, 253, 1, 1], [223, 255, 255, 255],
            [0xFD] + [UInt8](repeating: 0, count: 15), [0x20] + [UInt8](repeating: 0, count: 15),
        ]
        for bytes in allowed { #expect(PeerRecord.Address(bytes, port: 1)?.bytes == bytes) }
    }

    @Test func `a description has the first addresses in ascending order, each once`() throws {
        let seed = UInt64.random(in: 0..<1_000_000_000)
        print("addresses, seed \(seed)")
        var random = SeededRandom(seed: seed, "addresses")
        for _ in 0..<200 {
            let given = try (0..<random.below(40)).map { _ in
                try address(UInt8(random.below(8)), port: UInt16(1 + random.below(4)))
            }
            let addresses = PeerRecord.Description(addresses: given).addresses
            var first: [PeerRecord.Address] = []
            for address in given where !first.contains(address) { first.append(address) }
            #expect(Set(addresses) == Set(first.prefix(PresenceLimits.addresses)))
            #expect(zip(addresses, addresses.dropFirst()).allSatisfy(<))
            let message = PresenceMessage([record(1, near: [], addresses)])
            let again = try message.bytes.withUnsafeBytes { try PresenceMessage(decoding: $0) }
            #expect(again == message)
        }
    }

    @Test func `each peer of a mesh knows the addresses of all others`() throws {
        var scene = PresenceScene(4, SeededRandom(seed: 1, "addresses"))
        for index in 1..<4 { scene.connect(index - 1, index) }
        for index in 0..<3 {
            scene.databases[index].present(
                PeerRecord.Description(addresses: [try address(UInt8(index))]), at: scene.now)
        }
        scene.run(until: 10 * Self.second)
        let expected = try [0, 1, 2].map { (PresenceScene.key($0), [try address(UInt8($0))]) }
        for index in 0..<4 {
            var others = Dictionary(uniqueKeysWithValues: expected)
            others[PresenceScene.key(index)] = nil
            #expect(scene.databases[index].knownAddresses == others)
        }
        scene.databases[0].present(PeerRecord.Description(), at: scene.now)
        scene.run(until: 20 * Self.second)
        #expect(scene.databases[3].knownAddresses[PresenceScene.key(0)] == nil)
    }

    @Test func `a peer that has lost its only connection knows the others for two minutes`() throws
    {
        var database = LinkStateDatabase(
            PresenceScene.key(0), PeerRecord.Description(), opening: 1, salt: 1)
        database.opened(1, to: PresenceScene.key(1), kind: 2, at: 0)
        let records = [
            record(1, near: [0, 2], [try address(1)]), record(2, near: [1], [try address(2)]),
        ]
        database.receive(PresenceMessage(records), on: 1, at: 0)
        #expect(database.drainActions(at: 0).contains(.changed))
        let lost = 10 * Self.second
        database.closed(1, at: lost)
        _ = database.drainActions(at: lost)
        let end = lost + PresenceLimits.retentionNanoseconds
        database.tick(at: end - 1)
        #expect(database.knownAddresses.count == 2)
        #expect(database.reachable.count == 1)
        database.tick(at: end)
        #expect(database.knownAddresses.isEmpty)
        #expect(database.drainActions(at: end).contains(.changed))
    }

    @Test func `an invented peer to which no path leads has no known addresses`() throws {
        var database = LinkStateDatabase(
            PresenceScene.key(0), PeerRecord.Description(), opening: 1, salt: 1)
        database.opened(1, to: PresenceScene.key(1), kind: 2, at: 0)
        database.receive(
            PresenceMessage([
                record(1, near: [0], [try address(1)]), record(2, near: [1], [try address(2)]),
            ]), on: 1, at: 0)
        #expect(Array(database.knownAddresses.keys) == [PresenceScene.key(1)])
    }
}
