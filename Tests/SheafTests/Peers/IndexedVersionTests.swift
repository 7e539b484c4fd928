import Sheaf
import SheafBytes
import SheafDocument
import SheafEngine
import SheafQuery
import SheafReplication
import SheafStatements
import SheafStorage
import SheafSync
import SheafTestSupport
import Testing

/// The versions of documents that an index selects, which peers compare instead of lists.
@Suite struct IndexedVersionTests {
    private static let definitions: [DQL] = [
        "CREATE INDEX a ON cars (n)", "CREATE INDEX b ON cars (n DESC)",
        "CREATE INDEX c ON cars (n, kind)", "CREATE INDEX d ON cars (kind DESC, n)",
    ]

    /// Returns the range that a query selects in a snapshot.
    private func range(
        _ condition: String, _ store: SceneStore, _ arguments: [String: Value] = [:]
    ) throws -> OrderedRange? {
        let statement = try store.queries.statement(
            DQL(verbatim: "SELECT * FROM cars" + condition))
        return try store.queries.makeRun(statement, ArgumentValues(arguments)).orderedRange()
    }

    /// Returns the versions of the documents that a condition selects, found by a scan.
    private func listed(_ condition: String, _ store: SceneStore) throws -> [DocumentVersion] {
        let snapshot = store.queries.documents.snapshot()
        let all = try #require(StoredVersions(snapshot, "cars"))
        let ids = try store.rows(DQL(verbatim: "SELECT _id FROM cars" + condition))
        let wanted = try Set(
            ids.map { row in
                let id = try #require(try Value(json: row)["_id"])
                return DocumentAddress(collection: "cars", id: try DocumentID.key(of: id)).bytes
            })
        var found: [DocumentVersion] = []
        all.forEach(in: .all) { if wanted.contains($0.id) { found.append($0) } }
        return found
    }

    private func bound(_ list: [DocumentVersion], _ random: inout SeededRandom) -> [UInt8] {
        guard !list.isEmpty, random.chance(4, in: 5) else { return random.bytes(random.below(9)) }
        let address = list[random.below(list.count)].id
        return switch random.below(3) {
        case 0: address
        // Beyond a complete id, where an entry of the index may have more bytes.
        case 1: address + (0..<random.below(3)).map { _ in UInt8(random.below(4)) }
        default: Array(address.dropLast()) + random.bytes(random.below(3))
        }
    }

    @Test(arguments: 0..<4)
    func `an index range has the same sums and documents as a list`(_ number: Int) throws {
        let seed = UInt64.random(in: 0..<1_000_000_000)
        print("indexed versions, seed \(seed)")
        var random = SeededRandom(seed: seed, "indexed versions")
        let store = try SceneStore(SimulatedVolume(seed: seed), LogStoreOptions())
        if random.chance(1, in: 2) { try store.queries.documents.trackVersions() }
        let condition = number < 2 ? " WHERE n = 2" : " WHERE n = 2 AND kind = 'x'"
        var compared = 0
        for round in 0..<10 {
            if round == 3 { try store.execute(Self.definitions[number]) }
            for _ in 0..<60 {
                // Numbers that are equal, but of different kinds, lie next to each other.
                let n = ["1", "2", "2.0", "'2'", "2.5", "null"][random.below(6)]
                let id = random.chance(1, in: 3) ? "'\(random.below(40))'" : "\(random.below(40))"
                let kind = random.chance(3, in: 4) ? "x" : "y"
                let statement =
                    switch random.below(8) {
                    case 0: "DELETE FROM cars WHERE _id = \(id)"
                    case 1: "EVICT FROM cars WHERE _id = \(id)"
                    case 2: "UPDATE cars SET other = \(random.below(9)) WHERE _id = \(id)"
                    default:
                        "INSERT INTO cars VALUES ({'_id': \(id), 'n': \(n), 'kind': '\(kind)'}) "
                            + "ON ID CONFLICT DO UPDATE"
                    }
                try store.execute(DQL(verbatim: statement))
            }
            if round == 5 { try store.queries.documents.trackVersions() }
            let found = try range(condition, store)
            #expect((found != nil) == (round >= 3), "round \(round), seed \(seed)")
            let snapshot = store.queries.documents.snapshot()
            guard let found, let versions = StoredVersions(snapshot, "cars", found) else {
                #expect(round < 5, "round \(round), seed \(seed)")
                continue
            }
            #expect(found.isOfIndex)
            let list = try listed(condition, store)
            var expected = ListedVersions()
            for document in list { expected.append(document) }
            for _ in 0..<60 {
                let upper = random.chance(1, in: 4) ? nil : bound(list, &random)
                let range = KeyRange(from: bound(list, &random), to: upper)
                #expect(
                    versions.total(in: range) == expected.total(in: range),
                    "round \(round), seed \(seed)")
                var documents: [DocumentVersion] = []
                versions.forEach(in: range) { documents.append($0) }
                #expect(documents == list.filter { range.contains($0.id) })
                for index in documents.indices {
                    #expect(versions.address(index, in: range) == documents[index].id)
                }
                #expect(versions.address(documents.count, in: range) == nil)
                compared += documents.count
            }
        }
        #expect(compared > 100, "seed \(seed)")
    }

    @Test func `only a condition that selects one range in the order of ids has an ordered range`()
        throws
    {
        let store = try SceneStore(SimulatedVolume(seed: 3), LogStoreOptions())
        try store.execute("INSERT INTO cars VALUES ({'_id': 1, 'n': 2, 'kind': 'x'})")
        try store.execute("CREATE INDEX c ON cars (n, kind)")
        #expect(try range("", store)?.isOfIndex == false)
        #expect(try range(" WHERE _id > 3 AND _id < 9", store)?.isOfIndex == false)
        #expect(try range(" WHERE n = 2 AND kind = 'x'", store)?.isOfIndex == true)
        #expect(try range(" WHERE kind = :kind AND n = 2", store, ["kind": "x"]) != nil)
        for condition in [
            " WHERE n = 2", " WHERE n > 2 AND kind = 'x'", " WHERE n IN (1, 2) AND kind = 'x'",
            " WHERE n = 2 AND kind = 'x' AND other = 1", " WHERE n = 2 OR kind = 'x'",
            " WHERE _id > 3 AND n = 2", " WHERE other = 1", " WHERE n = 2 LIMIT 3",
        ] {
            #expect(try range(condition, store) == nil, "\(condition)")
        }
        // An index may be in the order of the ids because the id is one of its fields.
        for definition in ["(n, _id)", "(_id, n)", "(kind, _id, n)", "(n, _id DESC)"] {
            let other = try SceneStore(SimulatedVolume(seed: 4), LogStoreOptions())
            try other.execute("INSERT INTO cars VALUES ({'_id': 1, 'n': 2, 'kind': 'x'})")
            try other.execute(DQL(verbatim: "CREATE INDEX e ON cars \(definition)"))
            for condition in [
                " WHERE n = 2", " WHERE n = 2 AND _id > 'zzzzzzzzzzzzzzzzzz'", " WHERE _id = 1",
                " WHERE kind = 'x' AND _id = 1", " WHERE n = 2 AND starts_with(_id, 'p')",
            ] {
                let found = try range(condition, other)
                #expect(found?.isOfIndex != true, "\(definition)\(condition)")
            }
        }
        // A value that is too long for its entry is not compared by the index.
        let long = String(repeating: "k", count: 2_000)
        try store.execute(
            DQL(verbatim: "INSERT INTO cars VALUES ({'_id': 2, 'n': 2, 'kind': '\(long)'})"))
        #expect(try range(" WHERE n = 2 AND kind = 'x'", store) == nil)
    }
}
