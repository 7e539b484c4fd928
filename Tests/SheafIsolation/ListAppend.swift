import SheafDocument
import SheafStatements
package import SheafStore
package import SheafTestSupport
import Synchronization

/// A workload of appends to lists; a read of a list reveals the order of its writers.
package struct ListAppend: ListWorkload {
    private let store: Store
    private let collection: String
    private let recorder = Recorder()

    package init(_ store: Store, _ collection: String) async throws {
        self.store = store
        self.collection = collection
        try await store.meetNames(
            "INSERT INTO \(identifier: collection) DOCUMENTS ({'_id': -1, 'items': []})", collection
        )
    }

    package func attempt(_ number: Int, _ random: SeededRandom) async throws {
        var random = random
        let notes = OperationRecorder()
        let invoked = recorder.now()
        let outcome: Attempt.Outcome
        switch random.below(4) {
        case 0:
            let keys = keys(number, 1 + random.below(4), &random)
            try await read(keys, notes) { try await store.execute($0) }
            outcome = .committed
        case 1:
            let mode = Mode.draw(&random)
            outcome = try await store.run(mode, isReadOnly: true) { [random] transaction in
                var random = random
                for _ in 0..<2 + random.below(3) {
                    let keys = keys(number, 1 + random.below(2), &random)
                    try await read(keys, notes) { try await transaction.execute($0) }
                    await Task.yield()
                }
            }
        default:
            let mode = Mode.draw(&random)
            outcome = try await store.run(mode) { [random] transaction in
                try await write(number, transaction, notes, random)
            }
        }
        recorder.record(
            Attempt(
                invoked: invoked, completed: recorder.now(), outcome: outcome,
                commit: notes.commit, notes.operations))
    }

    /// Returns some keys for an attempt; keys advance with the number, so that lists stay short.
    private func keys(_ number: Int, _ count: Int, _ random: inout SeededRandom) -> [Int] {
        (0..<count).map { _ in number / 64 + random.below(8) }
    }

    private func read(
        _ keys: [Int], _ notes: OperationRecorder, _ run: (DQL) async throws -> QueryResult
    ) async throws {
        let result =
            keys.count == 1
            ? try await run(
                "SELECT _id, items FROM \(identifier: collection) WHERE _id = \(keys[0])")
            : try await run(
                "SELECT _id, items FROM \(identifier: collection) WHERE ARRAY_CONTAINS(\(keys), _id)"
            )
        var lists: [Int: [Int]] = [:]
        for item in result.items {
            guard let id = try item["_id"]?.int else { throw Anomaly("a row has no _id") }
            lists[id] = try item["items"]?.ints
        }
        for key in Set(keys).sorted() { notes.read(key, lists[key] ?? []) }
        notes.keep(result)
    }

    private func write(
        _ number: Int, _ transaction: StoreTransaction, _ notes: OperationRecorder,
        _ random: SeededRandom
    ) async throws {
        var random = random
        for step in 0..<1 + random.below(3) {
            let key = keys(number, 1, &random)[0]
            let found = try await transaction.execute(
                "SELECT items FROM \(identifier: collection) WHERE _id = \(key)")
            let items = try found.items.first?["items"]?.ints
            notes.read(key, items ?? [])
            notes.keep(found)
            if random.chance(1, in: 2) { await Task.yield() }
            if random.chance(1, in: 4) { continue }
            let value = number * 4 + step
            notes.write(key, value)
            let grown = (items ?? []) + [value]
            if items == nil {
                try await transaction.execute(
                    "INSERT INTO \(identifier: collection) DOCUMENTS ({'_id': \(key), 'items': \(grown)})"
                )
            } else {
                try await transaction.execute(
                    "UPDATE \(identifier: collection) SET items = \(grown) WHERE _id = \(key)")
            }
            if random.chance(1, in: 8) {
                try await fail(transaction, existing: key, ghost: key + 1 + random.below(4))
            }
            if random.chance(1, in: 2) { await Task.yield() }
        }
    }

    /// Runs a statement that fails after its first document, and ignores the error.
    private func fail(_ transaction: StoreTransaction, existing: Int, ghost: Int) async throws {
        do throws(any Error) {
            try await transaction.execute(
                """
                INSERT INTO \(identifier: collection) DOCUMENTS ({'_id': \(ghost), 'items': [-1]}), \
                ({'_id': \(existing), 'items': [-1]})
                """)
        } catch let error as StoreError where error.reason == .conflict {
            return
        }
        throw Anomaly("an existing document was inserted again: \(existing)")
    }

    package func check() async throws {
        // A final read detects lost writes.
        let notes = OperationRecorder()
        let invoked = recorder.now()
        let all = try await store.execute("SELECT _id, items FROM \(identifier: collection)")
        for item in all.items {
            guard let id = try item["_id"]?.int else { throw Anomaly("a row has no _id") }
            notes.read(id, try item["items"]?.ints ?? [])
        }
        notes.keep(all)
        recorder.record(
            Attempt(
                invoked: invoked, completed: recorder.now(), outcome: .committed,
                commit: notes.commit, notes.operations))
        try HistoryChecker.check(lists: recorder.history)
    }
}

extension Value {
    /// The value of an integer; nil for other values.
    var int: Int? {
        guard case .integer(let number) = self else { return nil }
        return Int(number)
    }

    /// The integers of an array.
    var ints: [Int]? {
        guard case .array(let values) = self else { return nil }
        return values.compactMap(\.int)
    }
}
