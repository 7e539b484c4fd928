import Sheaf
import SheafDocument
import SheafStatements
import SheafStorage
import SheafStore
import SheafTestSupport
import Synchronization
import Testing

/// The ends of transactions, and the errors of calls that come too late or would write.
@Suite struct EndedTransactionTests {
    private struct Car: Codable, Sendable {
        var _id: String
        var number = 1
    }

    private final class Counter: Sendable {
        let count = Atomic(0)
    }

    private func refusal(
        _ body: nonisolated(nonsending) () async throws -> Void
    ) async -> StoreError? {
        do { try await body() } catch { return error as? StoreError }
        return nil
    }

    /// Returns the errors of a statement that writes, and of typed calls that do.
    private func refusals(_ transaction: StoreTransaction) async -> [StoreError?] {
        let cars = transaction.collection("cars", of: Car.self)
        let car = Car(_id: "a")
        return [
            await refusal { try await transaction.execute("DELETE FROM cars") },
            await refusal { try await cars.insert(car) },
            await refusal { try await cars.insert([car]) },
            await refusal { try await cars.upsert(car) },
            await refusal { try await cars.save(car, over: car) },
        ]
    }

    private func five(_ reason: StoreError.Reason, _ message: String, _ hint: String)
        -> [StoreError?]
    {
        Array(repeating: StoreError(reason, message, hint: hint), count: 5)
    }

    private func ended(_ message: String) -> [StoreError?] {
        five(
            .transactionEnded, message,
            "use a transaction only within its block, and not after commit() or rollback()")
    }

    @Test(arguments: [nil, "look"] as [String?])
    func `a read-only transaction refuses each call that would write`(hint: String?) async throws {
        let store = try await Store.inMemory()
        let quoted = hint.map { " \"\($0)\"" } ?? ""
        try await store.transaction(hint: hint, isReadOnly: true) { transaction in
            let found = await refusals(transaction)
            #expect(
                found
                    == five(
                        .readOnly,
                        "the transaction\(quoted) is read-only, and the statement would write",
                        "begin a transaction with isReadOnly: false to write"))
        }
        try await store.close()
    }

    @Test(arguments: [false, true])
    func `an ended transaction refuses each call, and names the way in which it has ended`(
        isReadOnly: Bool
    ) async throws {
        let store = try await Store.inMemory()
        for (completion, way) in [
            (.commit, "was committed"), (.rollback, "was rolled back"),
        ] as [(TransactionCompletion, String)] {
            try await store.transaction(hint: "move", isReadOnly: isReadOnly) { transaction in
                try await transaction.end(with: completion)
                let found = await refusals(transaction)
                let expected = ended(
                    "the transaction \"move\" \(way) by a call within its block")
                #expect(found == expected)
                for again in [TransactionCompletion.commit, .rollback] {
                    let refused = await refusal { try await transaction.end(with: again) }
                    #expect(refused == expected[0])
                }
            }
        }
        let returned = try await store.transaction(isReadOnly: isReadOnly) { $0 }
        let found = await refusals(returned)
        #expect(found == ended("the transaction has ended"))
        for again in [TransactionCompletion.commit, .rollback] {
            let refused = await refusal { try await returned.end(with: again) }
            #expect(refused == found[0])
        }
        try await store.close()
    }

    @Test func `a transaction whose commit fails has ended with the error of the commit`()
        async throws
    {
        let volume = SimulatedVolume(seed: 1)
        var options = StoreOptions()
        options.storage.runsMaintenance = false
        let store = try await Store.open(on: volume, options: options)
        volume.inject(SimulatedFault(.error(.inputOutput), of: .synchronize, forEver: true))
        await #expect(throws: StoreError.self) {
            try await store.execute("INSERT INTO t DOCUMENTS ({'_id': 1})")
        }
        var failure: StoreError?
        // The second transaction enters the gate that the first one has left.
        for hint in ["lost", "late"] {
            let thrown = await refusal {
                try await store.transaction(hint: hint) { transaction in
                    try await transaction.execute("INSERT INTO t DOCUMENTS ({'_id': 2})")
                    failure = await refusal { try await transaction.end(with: .commit) }
                    let found = await refusals(transaction)
                    #expect(
                        found == ended("the transaction \"\(hint)\" has ended: its commit failed"))
                }
            }
            #expect(failure != nil && thrown == failure)
        }
        try? await store.close()
    }

    @Test func `results of a read-only transaction get the commit of its snapshot at its end`()
        async throws
    {
        let store = try await Store.inMemory()
        try await store.execute("INSERT INTO t DOCUMENTS ({'_id': 0})")
        for number: Int64 in 1...3 {
            var kept: QueryResult?
            try await store.transaction(isReadOnly: true) { transaction in
                try await store.execute("INSERT INTO t DOCUMENTS ({'_id': \(number)})")
                kept = try await transaction.execute("SELECT * FROM t")
                #expect(kept?.items.count == Int(number) && kept?.commitID == nil)
                if number == 2 { try await transaction.end(with: .rollback) }
                if number == 3 { try await transaction.end(with: .commit) }
                #expect(kept?.commitID == (number == 1 ? nil : number))
            }
            #expect(kept?.commitID == number)
        }
        try await store.close()
    }

    @Test func `typed writes of a transaction get their commit with it`() async throws {
        let store = try await Store.inMemory()
        var written: [WrittenDocuments] = []
        try await store.transaction { transaction in
            let cars = transaction.collection("cars", of: Car.self)
            let (second, third) = (Car(_id: "a", number: 2), Car(_id: "a", number: 3))
            written = [
                try await cars.insert(Car(_id: "a")),
                try await cars.insert([Car(_id: "b"), Car(_id: "c")]),
                try await cars.upsert(second),
                try await cars.save(third, over: second),
                try await cars.save(third, over: third),
            ]
            let commits = written.compactMap { $0.commitID }
            #expect(commits.isEmpty)
        }
        let (ids, commits) = (written.map { $0.ids }, written.map { $0.commitID })
        #expect(ids == [["a"], ["b", "c"], ["a"], ["a"], []] as [[Value]])
        #expect(commits == [1, 1, 1, 1, 1] as [Int64?])
        try await store.close()
    }

    @Test func `a canceled task cannot commit its transaction, but roll it back`() async throws {
        let store = try await Store.inMemory()
        try await Task {
            try await store.transaction { transaction in
                try await transaction.execute("INSERT INTO t DOCUMENTS ({'_id': 1})")
                withUnsafeCurrentTask { $0?.cancel() }
                await #expect(throws: CancellationError.self) {
                    try await transaction.execute("SELECT * FROM t")
                }
                await #expect(throws: CancellationError.self) {
                    try await transaction.end(with: .commit)
                }
                try await transaction.end(with: .rollback)
            }
        }.value
        let next = try await store.execute("INSERT INTO t DOCUMENTS ({'_id': 2})")
        #expect(next.commitID == 1)
        #expect(try await store.execute("SELECT * FROM t").items.count == 1)
        try await store.close()
    }

    @Test func `the cancellation of a typed insertion ends it before the next document`()
        async throws
    {
        let store = try await Store.inMemory()
        let counter = Counter()
        let result = await Task {
            let sequence = (0..<40).lazy.map { (number: Int) -> Car in
                counter.count.add(1, ordering: .relaxed)
                if number == 30 { withUnsafeCurrentTask { $0?.cancel() } }
                return Car(_id: "\(number)")
            }
            return try await store.collection("cars", of: Car.self).insert(sequence).count
        }.result
        #expect(throws: CancellationError.self) { _ = try result.get() }
        #expect(counter.count.load(ordering: .relaxed) == 31)
        #expect(try await store.execute("SELECT * FROM cars").items.isEmpty)
        try await store.close()
    }

    @Test func `an element that is no document is named, and discards the others`() async throws {
        let store = try await Store.inMemory()
        let values = store.collection("t", of: Value.self)
        let sequence: [Value] = [["_id": 1], 5]
        let expected = StoreError(
            .argument, "a document must be encoded as an object; Value is encoded as 5")
        let insertion = await refusal { try await values.insert(sequence) }
        let upsert = await refusal { try await values.upsert(sequence) }
        #expect(insertion == expected && upsert == expected)
        #expect(try await values.count() == 0)
        try await store.close()
    }
}
