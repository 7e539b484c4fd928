import Sheaf
import SheafBytes
import SheafDocument
import SheafEngine
import SheafReplication
import SheafStatements
import SheafStorage
import SheafSync
import SheafTestSupport
import Testing

/// The versions in the tree of a store, which peers compare instead of lists.
@Suite struct StoredVersionTests {
    private static let names = ["a", "cars", "cars and more"]

    /// Returns the versions of the documents of a collection, computed one by one.
    private func listed(_ name: String, _ snapshot: DocumentSnapshot) throws -> ListedVersions {
        var list = ListedVersions()
        let collection = VersionHasher.hash(ofCollection: name)
        try snapshot.forEachDocument(of: name) { (key, document) throws(EngineError) in
            let vector = document.read { bytes -> UInt64? in
                guard let document = try? EncodedDocument(bytes), (try? document.exists()) == true
                else { return nil }
                return try? document.vector().hash
            }
            guard let vector else { return true }
            let id = Array(key.dropFirst(StoreKey.documentPrefixLength))
            let version = id.withUnsafeBytes {
                VersionHasher.hash(id: $0, collection: collection, vector: vector)
            }
            let address = DocumentAddress(collection: name, id: id)
            list.append(DocumentVersion(id: address.bytes, version: version))
            return true
        }
        return list
    }

    /// Returns the documents of a source in a range.
    private func documents(
        _ source: any VersionSource, _ range: KeyRange
    ) -> [DocumentVersion] {
        var documents: [DocumentVersion] = []
        source.forEach(in: range) { documents.append($0) }
        return documents
    }

    private func bound(
        _ lists: [ListedVersions], _ random: inout SeededRandom
    ) -> [UInt8] {
        let all = lists.flatMap(\.documents)
        switch random.below(5) {
        case 0: return []
        case 1: return random.bytes(random.below(6))
        case 2:
            let name = Self.names[random.below(3)]
            return DocumentAddress(collection: name, id: []).bytes
        default:
            guard !all.isEmpty else { return [] }
            let address = all[random.below(all.count)].id
            return random.chance(1, in: 2)
                ? address : Array(address.dropLast()) + random.bytes(random.below(3))
        }
    }

    @Test func `ranges of the tree have the sums and the documents of lists`() throws {
        let seed = UInt64.random(in: 0..<1_000_000_000)
        print("stored versions, seed \(seed)")
        var random = SeededRandom(seed: seed, "stored versions")
        let store = try SceneStore(SimulatedVolume(seed: seed), LogStoreOptions())
        try store.queries.documents.trackVersions()
        for round in 0..<12 {
            for _ in 0..<60 {
                let (name, number) = (Self.names[random.below(3)], random.below(400))
                let arguments: QueryArguments = ["id": number, "n": Int(random.below(9))]
                switch random.below(6) {
                case 0:
                    try store.execute(
                        DQL(verbatim: "DELETE FROM `\(name)` WHERE _id = :id"), arguments)
                case 1:
                    try store.execute(
                        DQL(verbatim: "EVICT FROM `\(name)` WHERE _id = :id"), arguments)
                default:
                    try store.execute(
                        DQL(
                            verbatim: """
                                INSERT INTO `\(name)` VALUES ({'_id': :id, 'n': :n})
                                ON ID CONFLICT DO UPDATE
                                """), arguments)
                }
            }
            let snapshot = store.queries.documents.snapshot()
            let lists = try Self.names.map { try listed($0, snapshot) }
            for (name, list) in zip(Self.names, lists) {
                guard let stored = StoredVersions(snapshot, name) else {
                    #expect(snapshot.catalog.number(ofCollection: name) == nil)
                    continue
                }
                for _ in 0..<40 {
                    let upper = random.chance(1, in: 4) ? nil : bound(lists, &random)
                    let range = KeyRange(from: bound(lists, &random), to: upper)
                    let (total, expected) = (stored.total(in: range), list.total(in: range))
                    #expect(total.sum == expected.sum, "round \(round), seed \(seed)")
                    // Tombstones are counted, too.
                    #expect(total.count >= expected.count)
                    #expect(documents(stored, range) == documents(list, range))
                    let addresses = (0..<total.count).compactMap { stored.address($0, in: range) }
                    #expect(addresses.count == total.count)
                    #expect(addresses.allSatisfy { range.contains($0) })
                    #expect(Set(addresses).isSuperset(of: documents(list, range).map(\.id)))
                    #expect(stored.address(total.count, in: range) == nil)
                }
            }
        }
    }

    @Test func `documents written without a peer or read from the log get their versions`() throws {
        let volume = SimulatedVolume(seed: 5)
        let store = try SceneStore(volume, LogStoreOptions())
        try store.execute("INSERT INTO cars VALUES ({'_id': 1}), ({'_id': 2})")
        let before = store.queries.documents.snapshot()
        #expect(StoredVersions(before, "cars") == nil)
        try store.queries.documents.trackVersions()
        let tracked = store.queries.documents.snapshot()
        #expect(try #require(StoredVersions(tracked, "cars")).total(in: .all).count == 2)
        try store.execute("INSERT INTO cars VALUES ({'_id': 3})")
        try store.engine.writeCheckpoint()
        try store.execute("UPDATE cars SET n = 1 WHERE _id = 2")
        try store.engine.close()
        let again = try SceneStore(volume, LogStoreOptions())
        let snapshot = again.queries.documents.snapshot()
        let range = StoreKey.documents(of: 0)
        // Those of the checkpoint are complete, and that of the log after it is missing.
        #expect(snapshot.log.tree.weights(in: range).count == 2)
        #expect(snapshot.log.tree.unweighted(in: range, most: 9).count == 1)
        try again.queries.documents.trackVersions()
        let newest = again.queries.documents.snapshot()
        let sum = try listed("cars", newest).total(in: .all).sum
        #expect(try #require(StoredVersions(newest, "cars")).total(in: .all).sum == sum)
    }

    @Test func `verification finds versions that are not those of the documents`() throws {
        let store = try SceneStore(SimulatedVolume(seed: 6), LogStoreOptions())
        try store.queries.documents.trackVersions()
        try store.execute("CREATE INDEX a ON cars (n)")
        try store.execute("INSERT INTO cars VALUES ({'_id': 1, 'n': 1}), ({'_id': 2, 'n': 2})")
        let tree = store.engine.snapshot().tree
        let ranges = [
            (StoreKey.documents(of: 0), "another version of the document"),
            (IndexChanges.all, "an index entry has another version of the document"),
        ]
        for (range, reason) in ranges {
            var found: (key: [UInt8], pointer: RecordPointer, weight: UInt64)?
            tree.forEach(in: range) { key, value in
                found = RecordPointer(value).map { (Array(key), $0, value.weight ?? 0) }
                return false
            }
            let entry = try #require(found)
            store.engine.setWeights([(entry.key, entry.pointer, entry.weight + 1)])
            let wrong = try #require(try DocumentVerifier.verify(store.engine.snapshot()))
            #expect(wrong.findings.count == 1)
            #expect(wrong.findings.first?.reason.contains(reason) == true)
            store.engine.setWeights([entry])
            #expect(try DocumentVerifier.verify(store.engine.snapshot())?.findings == [])
        }
    }
}
