import Sheaf
import SheafDocument
import SheafStatements
import SheafStorage
import SheafTestSupport
import Testing

/// AS OF in transactions, in read-only stores, and in stores that were restored.
@Suite struct PastTransactionTests {
    private static let reading = StoreOptions(isReadOnly: true)

    private func numbers(_ result: QueryResult) throws -> [Int64] {
        try result.items.map { item in
            guard case .integer(let number)? = try item.value["n"] else { return -1 }
            return number
        }
    }

    private func newest(_ store: Store) -> Int { Int(store.queries.snapshot().log.commit) }

    private func writer(_ volume: SimulatedVolume) async throws -> Store {
        var options = StoreOptions()
        options.storage = SmallStore.options(seed: 1)
        options.storage.runsMaintenance = false
        options.history = StoreOptions.History(commits: 3)
        return try await Store.open(on: volume, options: options)
    }

    @Test func `a transaction reads earlier states without its own changes`() async throws {
        let store = try await Store.inMemory()
        try await store.execute("INSERT INTO cars DOCUMENTS ({'_id': 1, 'n': 1})")
        let first = newest(store)
        try await store.execute("UPDATE cars SET n = 2")
        let second = newest(store)
        try await store.transaction { transaction in
            for change in ["UPDATE cars SET n = 3", "DELETE FROM cars WHERE _id = 1"] {
                try await transaction.execute(DQL(verbatim: change))
                for condition in ["", " WHERE _id = 1", " WHERE n > 0"] {
                    func numbers(_ commit: Int) async throws -> [Int64] {
                        try self.numbers(
                            try await transaction.execute(
                                DQL(
                                    verbatim: "SELECT * FROM cars AS OF COMMIT \(commit)"
                                        + condition)))
                    }
                    #expect(try await numbers(first) == [1])
                    #expect(try await numbers(second) == [2])
                    await #expect(throws: StoreError.self) { try await numbers(second + 1) }
                }
                // One statement reads the changes and an earlier state.
                let both = try await transaction.execute(
                    DQL(
                        verbatim: "SELECT old.n AS n, now.n AS now FROM cars AS OF COMMIT \(first) "
                            + "old LEFT JOIN cars now ON now._id = old._id"))
                #expect(
                    try both.items.map { try $0.jsonString }
                        == [change.hasPrefix("U") ? #"{"n":1,"now":3}"# : #"{"n":1}"#])
            }
            return TransactionCompletion.rollback
        }
        #expect(
            try numbers(
                try await store.execute(
                    DQL(verbatim: "SELECT * FROM cars AS OF COMMIT \(second)"))) == [2])
        try await store.close()
    }

    @Test func `a read-only transaction reads no commit after its own snapshot`() async throws {
        let store = try await Store.inMemory()
        try await store.execute("INSERT INTO cars DOCUMENTS ({'_id': 1, 'n': 1})")
        let first = newest(store)
        try await store.transaction(isReadOnly: true) { transaction in
            try await store.execute("UPDATE cars SET n = 2")
            for condition in ["", " WHERE _id = 1"] {
                // The cache has the newer state's neighbors.
                _ = try await store.execute(
                    DQL(verbatim: "SELECT * FROM cars AS OF COMMIT \(first)" + condition))
                let found = try await transaction.execute(
                    DQL(verbatim: "SELECT * FROM cars AS OF COMMIT \(first)" + condition))
                #expect(try self.numbers(found) == [1])
                await #expect(throws: StoreError.self) {
                    try await transaction.execute(
                        DQL(verbatim: "SELECT * FROM cars AS OF COMMIT \(first + 1)" + condition))
                }
            }
        }
        try await store.close()
    }

    @Test func `a reader beside a writer keeps its earlier states until it is refreshed`()
        async throws
    {
        let volume = SimulatedVolume(seed: 3)
        let store = try await writer(volume)
        try await store.execute("INSERT INTO cars DOCUMENTS ({'_id': 1, 'n': 0})")
        let first = newest(store)
        for n in 1...6 { try await store.execute("UPDATE cars SET n = \(n)") }
        let reader = try await Store.open(on: volume, options: Self.reading)
        func numbers(_ commit: Int) async throws -> [Int64] {
            try self.numbers(
                try await reader.execute(
                    DQL(verbatim: "SELECT * FROM cars AS OF COMMIT \(commit)")))
        }
        for n in 7...40 { try await store.execute("UPDATE cars SET n = \(n)") }
        let engine = try store.log.engine
        engine.compactEverything()
        while try engine.compactionStep() {}
        #expect(store.queries.snapshot().log.compactedThrough > UInt64(first + 6))
        for n in 0...6 { #expect(try await numbers(first + n) == [Int64(n)]) }
        await #expect(throws: StoreError.self) { try await numbers(first + 7) }
        try await reader.refresh()
        let error = try await #require(throws: StoreError.self) { try await numbers(first + 6) }
        #expect(error.message.contains("any more"))
        #expect(try await numbers(first + 39) == [39])
        try await reader.close()
        try await store.close()
    }

    @Test func `a restored backup has the earlier states of its store`() async throws {
        let directory = TemporaryDirectory()
        let store = try await Store.open(at: directory.path("store"))
        try await store.execute("CREATE INDEX n ON cars (n)")
        try await store.execute("INSERT INTO cars DOCUMENTS ({'_id': 1, 'n': 0})")
        let first = newest(store)
        for n in 1...6 { try await store.execute("UPDATE cars SET n = \(n)") }
        try await store.backup(to: directory.path("backup"))
        try await store.execute("DELETE FROM cars WHERE _id = 1")
        try await store.close()
        for options in [Self.reading, StoreOptions()] {
            let restored = try await Store.open(at: directory.path("backup"), options: options)
            for n in 0...6 {
                for condition in ["", " WHERE _id = 1", " WHERE n = \(n)"] {
                    let found = try await restored.execute(
                        DQL(verbatim: "SELECT * FROM cars AS OF COMMIT \(first + n)" + condition))
                    #expect(try numbers(found) == [Int64(n)])
                }
            }
            try await restored.close()
        }
    }
}
