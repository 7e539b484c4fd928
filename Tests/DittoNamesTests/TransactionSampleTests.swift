// The samples keep the formatting of the reference documentation.
// swift-format-ignore-file

import DittoNames
import Testing

/// Samples from the reference documentation about transactions.
struct TransactionSampleTests {
    private let ditto: Ditto

    init() async throws {
        ditto = try await Ditto.inMemory()
    }

    private func count() async throws -> Int? {
        let result = try await ditto.store.execute(query: "SELECT COUNT(*) AS n FROM t")
        return result.items.first?.value["n"] as? Int
    }

    @Test(arguments: [false, true])
    func `a transaction ends with the action its block returns`(isRolledBack: Bool) async throws {
        let completionAction = try await ditto.store.transaction(hint: "transaction example") { transaction in
            let queryResult1 = try await transaction.execute(query: "INSERT INTO t DOCUMENTS ({ _id: 1 })")
            let queryResult2 = try await transaction.execute(query: "INSERT INTO t DOCUMENTS ({ _id: 2 })")
            #expect(queryResult1.mutatedDocumentIDs() == [1])
            #expect(queryResult2.commitID == nil)
            let queryResultN = try await transaction.execute(query: "SELECT * FROM t")
            #expect(queryResultN.items.count == 2)
            if isRolledBack { return .rollback }

            // Complete by returning a `TransactionCompletionAction`
            return .commit // Or .rollback
        }

        #expect(completionAction == (isRolledBack ? .rollback : .commit))
        #expect(try await count() == (isRolledBack ? 0 : 2))
        try await ditto.close()
    }

    @Test func `a transaction that returns a value is committed`() async throws {
        let result: DittoQueryResult? = try await ditto.store.transaction(hint: "transaction returning a value") { transaction in
            let queryResult1 = try await transaction.execute(query: "INSERT INTO t DOCUMENTS ({ _id: 1 })")
            let queryResult2 = try await transaction.execute(query: "INSERT INTO t DOCUMENTS ({ _id: 2 })")
            #expect(queryResult1.commitID == nil && queryResult2.commitID == nil)
            let queryResultN = try await transaction.execute(query: "SELECT * FROM t")
            return queryResultN
        }

        #expect(result?.items.map { $0.value["_id"] as? Int } == [1, 2])
        // A read-only statement has no commit ID.
        #expect(result?.commitID == nil)
        #expect(try await count() == 2)
        try await ditto.close()
    }

    @Test func `a block may return nothing, or the completion action of a call`() async throws {
        try await ditto.store.transaction(hint: "nothing") { transaction in
            try await transaction.execute(query: "INSERT INTO t DOCUMENTS ({ _id: 1 })")
            try await transaction.execute(query: "INSERT INTO t DOCUMENTS ({ _id: 2 })")
        }
        #expect(try await count() == 2)
        let end: DittoTransactionCompletionAction? = try await ditto.store.transaction { transaction in
            try await transaction.execute(query: "INSERT INTO t DOCUMENTS ({ _id: 3 })")
            return try await transaction.rollback()
        }
        #expect(end == .rollback)
        #expect(try await count() == 2)
        try await ditto.close()
    }

    @Test func `a read-only transaction refuses to write`() async throws {
        // Read-only transaction with hint:
        try await ditto.store.transaction(hint: "Read-only transaction", isReadOnly: true) { transaction in
            do {
                try await transaction.execute(query: "INSERT INTO t DOCUMENTS ({ _id: 1 })")
                Issue.record("a read-only transaction has written")
            } catch DittoError.storeError(reason: .transactionReadOnly(let message)) {
                #expect(message.contains("\"Read-only transaction\" is read-only"))
            }
            return .commit
        }

        #expect(try await count() == 0)
        try await ditto.close()
    }

    @Test func `a transaction has an ID, a hint and a mode`() async throws {
        try await ditto.store.transaction { transaction in
            let id = transaction.info.id
            let hint = transaction.info.hint
            let isReadOnly = transaction.info.isReadOnly
            #expect(!id.isEmpty && hint == nil && !isReadOnly)
            return .commit
        }

        let infos = try await ditto.store.transaction(hint: "a", isReadOnly: true) { outer in
            try await ditto.store.transaction(hint: "b", isReadOnly: true) { [outer.info, $0.info] }
        }
        #expect(infos.map(\.hint) == ["a", "b"] && infos.allSatisfy(\.isReadOnly))
        #expect(infos[0].id != infos[1].id)
        try await ditto.close()
    }

    @Test func `a read outside a transaction does not see its writes`() async throws {
        try await ditto.store.transaction { transaction in
            try await transaction.execute(query: "INSERT INTO t DOCUMENTS ({ _id: 1 })") // ✅ OK
            try await ditto.store.execute(query: "SELECT * FROM t") // ⚠️ Avoid this
            #expect(try await count() == 0)
            return .commit
        }
        #expect(try await count() == 1)
        try await ditto.close()
    }

    @Test func `a write that bypasses the open transaction fails instead of deadlocking`() async throws {
        do {
            try await ditto.store.transaction(hint: "the outer one") { transaction in
                try await transaction.execute(query: "INSERT INTO t DOCUMENTS ({ _id: 1 })") // ✅ OK
                try await ditto.store.execute(query: "DELETE FROM t") // ⚠️ Avoid this
                return .commit
            }
            Issue.record("a write outside the transaction succeeded")
        } catch DittoError.storeError(reason: .transactionMisused(let message)) {
            #expect(message.contains("the outer one"))
        }
        #expect(try await count() == 0)
        try await ditto.close()
    }
}
