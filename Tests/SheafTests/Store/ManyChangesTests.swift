import Sheaf
import SheafDocument
import SheafTestSupport
import Testing

/// Statements that change thousands of documents, some before the last of them is found.
struct ManyChangesTests {
    private static let count = 4_750

    private static func options(isRelaxed: Bool) -> StoreOptions {
        // Without a flush, transactions see the commits before them as pending.
        StoreOptions(durability: isRelaxed ? .relaxed(milliseconds: 600_000) : .full)
    }

    /// Returns documents with the numbers `n` and `m`.
    private static func documents(_ numbers: Range<Int>) -> QueryArguments {
        QueryArguments([
            "documents": .array(
                numbers.map {
                    .object(
                        Object([
                            ("_id", .integer(Int64($0))), ("n", .integer(Int64($0))),
                            ("m", .integer(0)),
                        ]))
                })
        ])
    }

    /// Opens a store with an index on `n`, and calls `body`.
    private static func withStore(
        isRelaxed: Bool, _ body: (Store) async throws -> Void
    ) async throws {
        let directory = TemporaryDirectory()
        let store = try await Store.open(
            at: directory.path, options: options(isRelaxed: isRelaxed))
        try await store.execute("CREATE INDEX by_n ON t (n)")
        for start in stride(from: 0, to: count, by: 950) {
            try await store.execute(
                "INSERT INTO t DOCUMENTS (:documents)", documents(start..<start + 950))
        }
        try await body(store)
        try await store.close()
    }

    /// Returns the values of a column, as the transaction sees them.
    private static func integers(
        _ query: DQL, _ column: String, in transaction: StoreTransaction
    ) async throws -> [Int64] {
        try await transaction.execute(query).items.map { try integer($0[column]) }
    }

    private static func integer(_ value: Value?) throws -> Int64 {
        guard case .integer(let number)? = value else { throw NotInteger() }
        return number
    }

    private struct NotInteger: Error {}

    private static func expect(
        _ numbers: [Int64], in store: Store, _ comment: Comment
    ) async throws {
        try await store.transaction { transaction in
            let scanned = try await integers("SELECT n FROM t", "n", in: transaction)
            #expect(scanned.sorted() == numbers, comment)
            let indexed = try await integers(
                "SELECT n FROM t WHERE n >= -1000000 ORDER BY n", "n", in: transaction)
            #expect(indexed == numbers, comment)
            return .rollback
        }
    }

    @Test(arguments: [false, true])
    func `a statement changes each document once, although it changes what it searches`(
        isRelaxed: Bool
    ) async throws {
        try await Self.withStore(isRelaxed: isRelaxed) { store in
            let statements: [DQL] = [
                "UPDATE t SET n = n + 20000 WHERE n >= 0",
                "UPDATE t SET n = n + 20000, m = n",
                "UPDATE t USE INDEX by_n SET n = n + 20000 WHERE n > 0 OR n = 0",
            ]
            for (round, statement) in statements.enumerated() {
                let result = try await store.execute(statement)
                #expect(result.mutatedDocumentIDs.count == Self.count)
                #expect(Set(result.mutatedDocumentIDs).count == Self.count)
                let first = Int64(20_000 * (round + 1))
                try await Self.expect(
                    Array(first..<first + Int64(Self.count)), in: store, "\(statement.text)")
            }
            // In a transaction, a statement builds on the changes of those before it.
            try await store.transaction { transaction in
                try await transaction.execute("UPDATE t SET n = n - 60000 WHERE n >= 60000")
                try await transaction.execute("UPDATE t SET n = n * 2 WHERE n < 30000")
                try await transaction.execute("DELETE FROM t WHERE n >= 9000")
            }
            try await Self.expect(
                Array(stride(from: 0, to: 9_000, by: 2)), in: store, "in a transaction")
        }
    }

    @Test(arguments: [false, true])
    func `a statement that fails late changes nothing`(isRelaxed: Bool) async throws {
        try await Self.withStore(isRelaxed: isRelaxed) { store in
            try await store.execute("UPDATE t SET m = 'text' WHERE n = 4500")
            let all = Array(0..<Int64(Self.count))
            let failing: DQL = "UPDATE t APPLY m PN_INCREMENT BY CASE n WHEN 4500 THEN m ELSE 1 END"
            let error = await #expect(throws: StoreError.self) { try await store.execute(failing) }
            #expect(error?.reason == .argument)
            try await Self.expect(all, in: store, "alone")
            try await store.transaction { transaction in
                let zeros = try await Self.integers(
                    "SELECT m FROM t WHERE m = 0", "m", in: transaction)
                #expect(zeros.count == 4_749)
                try await transaction.execute("UPDATE t SET m = 7 WHERE n < 4500")
                await #expect(throws: StoreError.self) { try await transaction.execute(failing) }
                let sevens = try await Self.integers(
                    "SELECT m FROM t WHERE m = 7", "m", in: transaction)
                #expect(sevens.count == 4_500)
                let others = try await Self.integers(
                    "SELECT m FROM t WHERE m = 0", "m", in: transaction)
                #expect(others.count == 249)
            }
            try await Self.expect(all, in: store, "in a transaction")
        }
    }

    @Test(arguments: [false, true])
    func `all changed documents are returned`(isRelaxed: Bool) async throws {
        try await Self.withStore(isRelaxed: isRelaxed) { store in
            let changed = try await store.execute(
                "UPDATE t SET m = n + 1 WHERE n >= 250 RETURNING n, m")
            #expect(changed.items.count == 4_500)
            for item in changed.items {
                let n = try Self.integer(item["n"])
                #expect(try item["m"] == .integer(n + 1))
            }
            let deleted = try await store.execute(
                "DELETE FROM t ORDER BY n DESC LIMIT 4200 RETURNING n")
            let numbers = try deleted.items.map { try $0["n"] }
            #expect(numbers == (550..<4_750).reversed().map { .integer(Int64($0)) })
            #expect(deleted.mutatedDocumentIDs.count == 4_200)
            try await Self.expect(Array(0..<550), in: store, "after the deletion")
            let evicted = try await store.execute("EVICT FROM t WHERE n >= 100")
            #expect(evicted.mutatedDocumentIDs.count == 450)
            try await Self.expect(Array(0..<100), in: store, "after the eviction")
        }
    }

    @Test(arguments: [false, true])
    func `thousands of documents are evicted at once, unless the store is that of a hub`(
        isRelaxed: Bool
    ) async throws {
        try await Self.withStore(isRelaxed: isRelaxed) { store in
            let evicted = try await store.execute("EVICT FROM t WHERE n >= 250 RETURNING n")
            #expect(Set(evicted.mutatedDocumentIDs).count == 4_500)
            let numbers = try evicted.items.map { try Self.integer($0["n"]) }
            #expect(numbers.sorted() == Array(250..<4_750))
            try await Self.expect(Array(0..<250), in: store, "after the eviction")
            try await store.execute(
                "INSERT INTO t DOCUMENTS (:documents)", Self.documents(250..<4_750))
            store.queries.refuseEvictions()
            let error = await #expect(throws: StoreError.self) {
                try await store.execute("EVICT FROM t")
            }
            #expect(error?.reason == .meaning)
            try await Self.expect(Array(0..<4_750), in: store, "after the refusal")
        }
    }

    @Test func `a long commit that is not durable is not kept document by document`() async throws {
        try await Self.withStore(isRelaxed: true) { store in
            let before = store.queries.documents.separatePendingCount
            try await store.execute(
                "INSERT INTO u DOCUMENTS (:documents)", Self.documents(0..<5_000))
            for number in 0..<12 {
                try await store.execute(
                    "INSERT INTO u DOCUMENTS (:documents)",
                    Self.documents(10_000 + number..<10_001 + number))
            }
            // Only commits of one document, the shortest, have become separate documents.
            #expect(store.queries.documents.separatePendingCount - before <= 12)
            try await store.transaction { transaction in
                let numbers = try await Self.integers(
                    "SELECT n FROM u ORDER BY n", "n", in: transaction)
                #expect(numbers == Array(0..<5_000) + Array(10_000..<10_012))
            }
        }
    }
}
