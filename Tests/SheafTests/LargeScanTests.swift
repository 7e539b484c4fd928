import Sheaf
import SheafBytes
import SheafDocument
import SheafEngine
import SheafQuery
import SheafStatements
import SheafStorage
import SheafTestSupport
import Testing

/// A large store, whose scans are split into parts for several threads.
private struct LargeStore: Sendable {
    /// The number of documents: enough for several parts, of which the last one is not full.
    private static let count = 45_000
    private let volume: SimulatedVolume
    let store: StoreEngine
    var queries: QueryEngine
    /// The values of field `n` by document id.
    private(set) var values: [Int64: Int64] = [:]

    private static var options: LogStoreOptions {
        var options = LogStoreOptions()
        options.clock = FakeClock().clock
        options.segmentLength = 200_000
        return options
    }

    /// Opens a copy of the files of a store.
    init(copying other: LargeStore) throws {
        volume = other.volume.processDeath()
        store = try StoreEngine(opening: volume, options: Self.options)
        queries = QueryEngine(try DocumentEngine(store))
        values = other.values
    }

    init() throws {
        volume = SimulatedVolume(seed: 45)
        store = try StoreEngine(opening: volume, options: Self.options)
        queries = QueryEngine(try DocumentEngine(store))
        var random = SeededRandom(seed: 45, "very large scans")
        var ids: Set<Int64> = []
        while ids.count < Self.count { ids.insert(Int64(random.below(1_000_000))) }
        let order = ids.sorted().shuffled(using: &random)
        let filler = Value.string(String(repeating: "x", count: 1_200))
        for start in stride(from: 0, to: Self.count, by: 1_500) {
            let changes = order[start..<min(start + 1_500, Self.count)].map { id in
                values[id] = Int64(random.below(1_000))
                // Updates of large documents write delta records.
                let large: Object = id % 50 == 0 ? ["filler": filler] : [:]
                return DocumentChange(
                    "many", .integer(id),
                    .insert(["n": .integer(values[id] ?? 0), "large": .object(large)]))
            }
            _ = try queries.documents.commit(changes) { batch throws(StorageError) in
                try store.append(batch)
            }
            try store.flush()
        }
        for id in order where random.chance(1, in: id % 50 == 0 ? 15 : 150) {
            let isGone = random.chance(1, in: 3)
            try execute(
                isGone
                    ? "DELETE FROM many WHERE _id = \(id)"
                    : "UPDATE many SET n = 2000 WHERE _id = \(id)")
            values[id] = isGone ? nil : 2_000
        }
        // Copies are opened from the checkpoint.
        try store.writeCheckpoint()
    }

    @discardableResult
    func execute(_ query: DQL) throws(StoreError) -> ResultStorage {
        let store = store
        let flush = { @Sendable () throws(StorageError) in while try store.flush() {} }
        let (statement, values) = try queries.prepare(query, [:])
        let outcome = try queries.execute(
            statement, values,
            CommitSink(
                append: { batch throws(StorageError) in try store.append(batch) }, flush: flush))
        do throws(StorageError) { try flush() } catch { throw StoreError(.failed, "\(error)") }
        return outcome
    }

    func ids(_ query: DQL) throws -> [Int64] {
        let outcome = try execute(query)
        return try outcome.items.map { item in
            guard case .integer(let id)? = try item.object(outcome.names)["_id"] else {
                throw StoreError(.failed, "a row without an id")
            }
            return id
        }
    }

    func wanted(_ holds: (Int64) -> Bool) -> [Int64] {
        values.filter { holds($0.value) }.keys.sorted()
    }

    /// The number of documents that consist of several operations.
    var countWithDeltas: Int {
        let log = store.snapshot()
        var count = 0
        log.tree.forEach(in: log.keys) { _, value in
            if RecordPointer(value)?.isDelta == true { count += 1 }
            return true
        }
        return count
    }
}

/// Large scans, which are split into parts for several threads.
@Suite struct LargeScanTests {
    /// The store of all tests that write nothing.
    private static let shared = Result { try LargeStore() }

    /// Returns a copy of the shared store, for a test that changes it or its cached orders.
    private func copy() throws -> LargeStore { try LargeStore(copying: Self.shared.get()) }

    /// Returns the shared store, with caches of its own.
    private func shared() throws -> LargeStore {
        var large = try Self.shared.get()
        large.queries = QueryEngine(large.queries.documents)
        return large
    }

    @Test func `a filter returns each matching document once`() throws {
        let large = try shared()
        #expect(large.countWithDeltas > 0)
        #expect(
            try large.ids("SELECT * FROM many WHERE n = 2000").sorted()
                == large.wanted { $0 == 2_000 })
        #expect(
            try large.ids("SELECT * FROM many WHERE n < 10").sorted() == large.wanted { $0 < 10 })
        #expect(
            try large.ids("SELECT _id FROM many WHERE n >= 0").sorted() == large.wanted { $0 >= 0 })
        #expect(try large.ids("SELECT * FROM many WHERE n < 0").isEmpty)
    }

    @Test func `the rows of a large scan are decoded when they are read`() throws {
        let large = try shared()
        // Documents with these values are one operation each.
        let rows = try large.execute("SELECT * FROM many WHERE n < 100").items
        let encoded = rows.filter { row in
            if case .stored = row.content { true } else { false }
        }
        let count = large.wanted { $0 < 100 }.count
        #expect(rows.count == count)
        #expect(encoded.count == count)
    }

    @Test func `ranges with a common bound return the documents of each range`() throws {
        let large = try copy()
        let bounds: [(lower: Int64, upper: Int64)] = [
            (0, 400_000), (0, 700_000), (0, 400_000), (300_000, 1_000_000), (600_000, 1_000_000),
        ]
        for (lower, upper) in bounds {
            let wanted = large.values.keys.filter { lower <= $0 && $0 < upper }.sorted()
            // With this many documents, record pointers are cached in the order of the log.
            #expect(wanted.count > 4_096)
            let found = try large.ids(
                "SELECT * FROM many WHERE _id >= \(lower) AND _id < \(upper) AND n >= 0")
            #expect(found.sorted() == wanted)
        }
    }

    @Test func `repeated scans return rows in the same order`() throws {
        let large = try shared()
        let first = try large.ids("SELECT * FROM many WHERE n > 900")
        #expect(try large.ids("SELECT * FROM many WHERE n > 900") == first)
    }

    @Test func `a scan of several parts with a limit returns that many distinct rows`() throws {
        let large = try shared()
        let all = Set(large.wanted { $0 == 7 })
        for limit in [1, all.count / 2, all.count - 1, all.count, all.count + 1] {
            let found = try large.ids("SELECT * FROM many WHERE n = 7 LIMIT \(limit)")
            #expect(found.count == min(limit, all.count))
            #expect(Set(found).count == found.count && Set(found).isSubset(of: all))
        }
    }

    @Test func `a scan sees the latest writes`() throws {
        let large = try copy()
        let id = try #require(large.values.keys.min())
        let before = try large.ids("SELECT * FROM many WHERE n = 2000").sorted()
        try large.execute("INSERT INTO many DOCUMENTS ({_id: -1, n: 2000})")
        try large.execute("EVICT FROM many WHERE _id = \(id)")
        #expect(
            try large.ids("SELECT * FROM many WHERE n = 2000").sorted()
                == [-1] + before.filter { $0 != id })
    }

    @Test func `a sorted scan with a limit returns the first rows of the complete order`() throws {
        let large = try shared()
        let sorted = large.values.sorted { ($0.value, $0.key) < ($1.value, $1.key) }.map(\.key)
        #expect(
            try large.ids("SELECT * FROM many ORDER BY n, _id LIMIT 25 OFFSET 3")
                == Array(sorted[3..<28]))
        #expect(
            try large.ids("SELECT _id FROM many ORDER BY n DESC, _id DESC LIMIT 25")
                == Array(sorted.reversed().prefix(25)))
    }

    @Test func `documents copied by compaction are found`() throws {
        let large = try copy()
        large.store.compactEverything()
        while try large.store.compactionStep() {}
        #expect(large.countWithDeltas > 0)
        #expect(
            try large.ids("SELECT * FROM many WHERE n = 2000").sorted()
                == large.wanted { $0 == 2_000 })
        #expect(
            try large.ids("SELECT * FROM many WHERE n >= 0").sorted() == large.wanted { $0 >= 0 })
    }

    @Test func `a damaged document in the last part is reported`() throws {
        let large = try copy()
        let number = try #require(
            large.queries.documents.snapshot().catalog.number(ofCollection: "many"))
        let id = try DocumentID.key(of: .integer(try #require(large.values.keys.max())))
        var batch = WriteBatch()
        // The checksum of the record is valid, but the state after the kind is missing.
        try batch.put(StoreKey.document(collection: number, id: id).bytes, [1])
        _ = try large.store.append(batch)
        try large.store.flush()
        let error = #expect(throws: StoreError.self) {
            try large.ids("SELECT * FROM many WHERE n >= 0")
        }
        #expect(error?.reason == .damaged)
        large.queries.columns.setLimits(bytes: ColumnCache.defaultBytes, scans: 0)
        let same = #expect(throws: StoreError.self) {
            try large.ids("SELECT * FROM many WHERE n >= 0")
        }
        #expect(same?.description == error?.description)
    }

    @Test func `concurrent scans find the same number of documents`() async throws {
        let large = try shared()
        let queries = large.queries
        let wanted = large.wanted { $0 < 100 }.count
        let statement = try Parser.parse("SELECT * FROM many WHERE n < 100")
        let counts = await withTaskGroup(of: Int?.self) { group in
            for _ in 0..<6 {
                group.addTask {
                    try? queries.execute(statement).count
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(counts == Array(repeating: wanted, count: 6))
    }
}
