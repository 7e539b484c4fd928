import Sheaf
import SheafBytes
import SheafDocument
import SheafEngine
import SheafHubLog
import SheafReplication
import SheafStatements
import SheafStorage
import SheafTestSupport
import Testing

/// Tests of the documents of a store that a snapshot of a shard lacks, against sets.
struct LackingDocumentsTests {
    private static let names = ["a", "ab", "b", "cars", "split"]

    private func store(_ documents: [DocumentAddress]) throws -> SceneStore {
        let store = try SceneStore(SimulatedVolume(seed: 1), LogStoreOptions())
        try store.change(
            documents.map {
                DocumentChange(
                    $0.collection, try DocumentID.id(of: $0.id),
                    .insert(["n": 1], onConflict: .merge))
            })
        return store
    }

    @Test(arguments: 1...6 as ClosedRange<UInt64>)
    func `the documents of a shard are found that a snapshot lacks`(_ seed: UInt64) throws {
        var random = SeededRandom(seed: seed, "lacking documents")
        let map = try ShardMap(shardCount: 2, splitCollections: ["split"])
        let scopes = try SyncScopes(random.chance(1, in: 2) ? ["b": "LocalPeerOnly"] : [:])
        let all = try Self.names.flatMap { name in
            try (0..<8).map { number in
                DocumentAddress(
                    collection: name, id: try DocumentID.key(of: .string("car \(number)")))
            }
        }
        let own = all.filter { _ in random.chance(1, in: 2) }
        let store = try store(own)
        let snapshot = store.queries.documents.snapshot()
        for shard: UInt16 in 0..<2 {
            // A snapshot has the documents of its shard in the order of their addresses.
            let listed = all.filter {
                map.shard(of: $0) == shard && random.chance(1, in: 2)
            }.sorted()
            var lacking = LackingDocuments(snapshot, shard: shard, in: map, scopes)
            for address in listed { lacking.pass(address.collection, id: address.id) }
            let before = lacking.keys
            lacking.finish()
            let expected = own.filter { address in
                map.shard(of: address) == shard && !listed.contains(address)
                    && scopes.allows(address.collection, toServer: true)
            }.sorted()
            let found = lacking.keys.compactMap { snapshot.address(of: $0) }
            #expect(found == expected, "seed \(seed), shard \(shard)")
            #expect(lacking.keys.starts(with: before), "seed \(seed), shard \(shard)")
        }
    }

    @Test func `documents before the last one of a snapshot are found without its end`() throws {
        let addresses = try ["a", "b", "c"].map {
            DocumentAddress(collection: "cars", id: try DocumentID.key(of: .string($0)))
        }
        let store = try store(addresses)
        let snapshot = store.queries.documents.snapshot()
        var lacking = LackingDocuments(snapshot, shard: 0, in: .single, SyncScopes())
        lacking.pass("cars", id: addresses[1].id)
        #expect(lacking.keys.map { snapshot.address(of: $0) } == [addresses[0]])
        lacking.pass("dogs", id: addresses[0].id)
        #expect(lacking.keys.map { snapshot.address(of: $0) } == [addresses[0], addresses[2]])
        lacking.finish()
        lacking.finish()
        #expect(lacking.keys.count == 2)
    }
}
