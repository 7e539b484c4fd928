import Sheaf
import SheafDocument
import SheafStatements
import SheafStorage
import SheafTestSupport
import Testing

struct TransactionTests {
    private struct TestError: Error {}

    private func ids(_ store: Store) async throws -> [String] {
        try await store.execute("SELECT _id FROM t ORDER BY _id").items.map {
            try $0["_id"]?.json ?? "missing"
        }
    }

    @Test func `results of a transaction get their commit id with the commit`() async throws {
        let store = try await Store.inMemory()
        var kept: QueryResult?
        let end = try await store.transaction(hint: "two") { transaction in
            kept = try await transaction.execute("INSERT INTO t DOCUMENTS ({'_id': 1})")
            #expect(kept?.commitID == nil)
            try await transaction.execute("INSERT INTO t DOCUMENTS ({'_id': 2})")
            let seen = try await transaction.execute("SELECT * FROM t")
            #expect(seen.items.count == 2)
            #expect(try await ids(store) == [])
            return .commit
        }
        #expect(end == .commit)
        #expect(kept?.commitID == 1)
        #expect(try await ids(store) == ["1", "2"])
        try await store.close()
    }

    @Test func `a rolled-back transaction changes nothing`() async throws {
        let store = try await Store.inMemory()
        var kept: QueryResult?
        let end = try await store.transaction { transaction in
            kept = try await transaction.execute("INSERT INTO t DOCUMENTS ({'_id': 1})")
            return .rollback
        }
        #expect(end == .rollback)
        #expect(kept?.commitID == nil)
        await #expect(throws: TestError.self) {
            try await store.transaction { transaction in
                try await transaction.execute("INSERT INTO t DOCUMENTS ({'_id': 2})")
                throw TestError()
            }
        }
        #expect(try await ids(store) == [])
        let next = try await store.execute("INSERT INTO t DOCUMENTS ({'_id': 3})")
        #expect(next.commitID == 1)
        try await store.close()
    }

    @Test func `a block that returns nothing commits`() async throws {
        let store = try await Store.inMemory()
        try await store.transaction { transaction in
            try await transaction.execute("INSERT INTO t DOCUMENTS ({'_id': 1})")
            try await transaction.execute("INSERT INTO t DOCUMENTS ({'_id': 2})")
        }
        let task = Task {
            try await store.transaction(hint: "three") { transaction in
                for id in 3...4 {
                    guard id != 4 else { return }
                    try await transaction.execute("INSERT INTO t DOCUMENTS ({'_id': \(id)})")
                }
            }
        }
        try await task.value
        #expect(try await ids(store) == ["1", "2", "3"])
        try await store.close()
    }

    @Test func `a completion returned through a wrapper ends the transaction`() async throws {
        func handingOn<Result>(
            _ store: Store, _ body: (StoreTransaction) async throws -> Result
        ) async throws -> Result {
            try await store.transaction { try await body($0) }
        }
        let store = try await Store.inMemory()
        let end = try await handingOn(store) { transaction -> TransactionCompletion in
            try await transaction.execute("INSERT INTO t DOCUMENTS ({'_id': 1})")
            return .rollback
        }
        #expect(end == .rollback)
        let other: TransactionCompletion? = try await store.transaction { transaction in
            try await transaction.execute("INSERT INTO t DOCUMENTS ({'_id': 2})")
            return .rollback
        }
        #expect(other == .rollback)
        #expect(try await ids(store) == [])
        let value = try await handingOn(store) { transaction in
            try await transaction.execute("INSERT INTO t DOCUMENTS ({'_id': 3})")
        }
        #expect(value.commitID == 1)
        #expect(try await ids(store) == ["3"])
        try await store.close()
    }

    @Test func `a failed statement changes nothing and the transaction continues`() async throws {
        let store = try await Store.inMemory()
        let count = try await store.transaction { transaction -> Int in
            try await transaction.execute("INSERT INTO t DOCUMENTS ({'_id': 1, 'n': 1})")
            try await transaction.execute("UPDATE t SET n = 2 WHERE _id = 1")
            await #expect(throws: StoreError.self) {
                try await transaction.execute("INSERT INTO t DOCUMENTS ({'_id': 2}), ({'_id': 1})")
            }
            let seen = try await transaction.execute("SELECT * FROM t")
            try await transaction.execute("UPDATE t SET n = 3 WHERE n = 2")
            return seen.items.count
        }
        #expect(count == 1)
        let rows = try await store.execute("SELECT * FROM t").items.map { try $0.jsonString }
        #expect(rows == [#"{"_id":1,"n":3}"#])
        try await store.close()
    }

    @Test func `a read-only transaction sees one snapshot and refuses writes`() async throws {
        let store = try await Store.inMemory()
        try await store.execute("INSERT INTO t DOCUMENTS ({'_id': 1})")
        try await store.transaction(hint: "look", isReadOnly: true) { transaction in
            #expect(transaction.info.isReadOnly)
            #expect(transaction.info.hint == "look")
            try await store.execute("INSERT INTO t DOCUMENTS ({'_id': 2})")
            #expect(try await transaction.execute("SELECT * FROM t").items.count == 1)
            let error = await #expect(throws: StoreError.self) {
                try await transaction.execute("DELETE FROM t")
            }
            #expect(error?.reason == .readOnly)
            #expect(error?.message.contains(#"the transaction "look""#) == true)
            return .commit
        }
        #expect(try await ids(store) == ["1", "2"])
        try await store.close()
    }

    @Test func `a transaction of a store opened for reading can be committed`() async throws {
        let directory = TemporaryDirectory()
        let writer = try await Store.open(at: directory.path)
        try await writer.execute("INSERT INTO t DOCUMENTS ({'_id': 1})")
        try await writer.close()
        let store = try await Store.open(
            at: directory.path, options: StoreOptions(isReadOnly: true))
        let count = try await store.transaction(isReadOnly: true) { transaction in
            try await transaction.execute("SELECT * FROM t").items.count
        }
        #expect(count == 1)
        try await store.transaction(isReadOnly: true) { transaction in
            try await transaction.end(with: .commit)
            let error = await #expect(throws: StoreError.self) {
                try await transaction.execute("SELECT * FROM t")
            }
            #expect(error?.reason == .transactionEnded)
            return .commit
        }
        try await store.close()
    }

    @Test
    func `a write that would wait for its own transaction is refused with the hint in the error`()
        async throws
    {
        let store = try await Store.inMemory()
        var refused: [StoreError] = []
        try await store.transaction(hint: "outside") { transaction in
            do { try await store.execute("INSERT INTO t DOCUMENTS ({'_id': 1})") } catch let error
                as StoreError
            {
                refused.append(error)
            }
            do {
                try await store.transaction(hint: "inside") { _ in .commit }
            } catch let error as StoreError {
                refused.append(error)
            }
            let error = await Task {
                do {
                    try await store.execute("DELETE FROM t")
                    return nil as StoreError?
                } catch {
                    return error as? StoreError
                }
            }.value
            if let error { refused.append(error) }
            return .commit
        }
        #expect(refused.count == 3)
        #expect(refused.allSatisfy { $0.reason == .nestedTransaction })
        #expect(refused.allSatisfy { $0.message.contains(#""outside""#) })
        #expect(refused.count > 1 && refused[1].message.contains(#""inside""#))
        try await store.close()
    }

    @Test func `closing lets a running transaction commit and refuses later calls`() async throws {
        let store = try await Store.inMemory()
        let (started, starting) = AsyncStream<Void>.makeStream()
        let (closing, close) = AsyncStream<Void>.makeStream()
        async let transaction: Void = {
            _ = try await store.transaction { transaction in
                starting.finish()
                for await _ in closing {}
                try await transaction.execute("INSERT INTO t DOCUMENTS ({'_id': 1})")
                return .commit
            }
        }()
        for await _ in started {}
        async let closed: Void = store.close()
        while (try? await store.execute("SELECT * FROM t")) != nil { await Task.yield() }
        close.finish()
        try await transaction
        try await closed
    }

    @Test
    func `a statement beyond the transaction length is refused and the transaction continues`()
        async throws
    {
        var options = StoreOptions()
        options.storage.transactionLength = 10_000
        let store = try await Store.inMemory(options: options)
        let text = String(repeating: "x", count: 4_000)
        let counts = try await store.transaction { transaction -> [Int] in
            var counts: [Int] = []
            for number in 0..<5 {
                do {
                    try await transaction.execute(
                        "INSERT INTO t DOCUMENTS ({'_id': \(number), 'text': \(text)})")
                } catch let error as StoreError {
                    #expect(error.reason == .limit)
                    #expect(error.message.contains("maximumTransactionLength is 10000"))
                }
                counts.append(try await transaction.execute("SELECT * FROM t").items.count)
            }
            // Refused statements do not count toward the length.
            try await transaction.execute("INSERT INTO t DOCUMENTS ({'_id': 9, 'text': 'short'})")
            return counts
        }
        #expect(counts == [1, 2, 2, 2, 2])
        #expect(try await ids(store) == ["0", "1", "9"])
        try await store.close()
    }

    /// Inserts two documents in a transaction; returns the lengths that their refusals state.
    private func insertTwo(transactionLength: Int) async throws -> [Int?] {
        let random = SeededSource(seed: 4)
        var options = StoreOptions()
        options.storage.transactionLength = transactionLength
        options.storage.clock = FakeClock().clock
        options.storage.random = { random.next() }
        let store = try await Store.inMemory(options: options)
        let lengths = try await store.transaction { transaction -> [Int?] in
            var lengths: [Int?] = []
            for id in ["a", "b"] {
                do {
                    try await transaction.execute(
                        "INSERT INTO t DOCUMENTS ({'_id': \(id), 'text': 'a text'})")
                    lengths.append(nil)
                } catch let error as StoreError {
                    let start =
                        "maximumTransactionLength is \(transactionLength), and this would be "
                    try #require(error.message.hasPrefix(start), "\(error.message)")
                    lengths.append(Int(error.message.dropFirst(start.count)))
                }
            }
            return lengths
        }
        try await store.close()
        return lengths
    }

    @Test func `a transaction may change documents of exactly its maximum length`() async throws {
        let short = try await insertTwo(transactionLength: 1)
        let first = try #require(short[0])
        let longer = try await insertTwo(transactionLength: first)
        let total = try #require(longer[1])
        #expect(first > 10 && total > first + 10)
        #expect(longer == [nil, total])
        #expect(try await insertTwo(transactionLength: first - 1).first == first)
        #expect(try await insertTwo(transactionLength: total) == [nil, nil])
        #expect(try await insertTwo(transactionLength: total - 1) == [nil, total])
        #expect(LogStoreOptions().transactionLength == 1 << 30)
    }
}
