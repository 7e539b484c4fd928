import DittoNames
import Testing

/// `commit()` and `rollback()` within the block of a transaction.
struct TransactionEndingTests {
    private struct TestError: Error {}

    private let ditto: Ditto

    init() async throws {
        ditto = try await Ditto.inMemory()
    }

    private func count() async throws -> Int? {
        let result = try await ditto.store.execute(query: "SELECT COUNT(*) AS n FROM t")
        return result.items.first?.value["n"] as? Int
    }

    private func expectMisuse(
        saying words: String, _ body: nonisolated(nonsending) () async throws -> Void
    ) async throws {
        do {
            try await body()
            Issue.record("an ended transaction accepted a call")
        } catch DittoError.storeError(reason: .transactionMisused(let message)) {
            #expect(message.contains(words))
        }
    }

    @Test func `rollback ends the transaction, whatever value the block returns`() async throws {
        let value = try await ditto.store.transaction(hint: "undo") { transaction in
            try await transaction.execute(query: "INSERT INTO t DOCUMENTS ({ _id: 1 })")
            try await transaction.rollback()
            return 42
        }
        #expect(value == 42)
        #expect(try await count() == 0)
        try await ditto.store.transaction { transaction in
            try await transaction.execute(query: "INSERT INTO t DOCUMENTS ({ _id: 1 })")
            try await transaction.rollback()
        }
        #expect(try await count() == 0)
        try await ditto.close()
    }

    @Test func `commit ends the transaction before its block returns`() async throws {
        let value = try await ditto.store.transaction { transaction in
            let result = try await transaction.execute(
                query: "INSERT INTO t DOCUMENTS ({ _id: 1 })")
            try await transaction.commit()
            #expect(result.commitID == 1)
            #expect(try await count() == 1)
            return "done"
        }
        #expect(value == "done")
        await #expect(throws: TestError.self) {
            try await ditto.store.transaction { transaction in
                try await transaction.execute(query: "INSERT INTO t DOCUMENTS ({ _id: 2 })")
                try await transaction.commit()
                throw TestError()
            }
        }
        #expect(try await count() == 2)
        try await ditto.close()
    }

    @Test(arguments: [false, true])
    func `an ended transaction accepts no more calls`(isReadOnly: Bool) async throws {
        try await ditto.store.transaction(hint: "first", isReadOnly: isReadOnly) { transaction in
            try await transaction.rollback()
            let words = "\"first\" was rolled back by a call within its block"
            try await expectMisuse(saying: words) {
                try await transaction.execute(query: "SELECT * FROM t")
            }
            try await expectMisuse(saying: words) { try await transaction.commit() }
            try await expectMisuse(saying: words) { try await transaction.rollback() }
        }
        try await ditto.store.transaction(hint: "second", isReadOnly: isReadOnly) { transaction in
            try await transaction.commit()
            let words = "\"second\" was committed by a call within its block"
            try await expectMisuse(saying: words) {
                try await transaction.execute(query: "SELECT * FROM t")
            }
            try await expectMisuse(saying: words) { try await transaction.rollback() }
        }
        try await ditto.close()
    }

    @Test func `a block that returns commit after rollback, or vice versa, fails`() async throws {
        try await expectMisuse(saying: "was rolled back by a call within its block") {
            try await ditto.store.transaction { transaction in
                try await transaction.execute(query: "INSERT INTO t DOCUMENTS ({ _id: 1 })")
                try await transaction.rollback()
                return .commit
            }
        }
        #expect(try await count() == 0)
        try await expectMisuse(saying: "was committed by a call within its block") {
            try await ditto.store.transaction { transaction in
                try await transaction.execute(query: "INSERT INTO t DOCUMENTS ({ _id: 1 })")
                try await transaction.commit()
                return .rollback
            }
        }
        #expect(try await count() == 1)
        try await ditto.close()
    }

    @Test func `a transaction ended by a call admits the next writer`() async throws {
        try await ditto.store.transaction { transaction in
            try await transaction.execute(query: "INSERT INTO t DOCUMENTS ({ _id: 1 })")
            try await transaction.rollback()
            try await ditto.store.execute(query: "INSERT INTO t DOCUMENTS ({ _id: 2 })")
            try await ditto.store.transaction { inner in
                try await inner.execute(query: "INSERT INTO t DOCUMENTS ({ _id: 3 })")
            }
        }
        #expect(try await count() == 2)
        try await ditto.close()
    }
}
