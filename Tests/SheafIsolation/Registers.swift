import SheafDocument
import SheafStatements
package import SheafStore
package import SheafTestSupport

/// A workload that reads and overwrites several registers, in one or several statements.
package struct Registers: ListWorkload {
    private static let count = 10
    private let store: Store
    private let collection: String
    private let recorder = Recorder()

    package init(_ store: Store, _ collection: String) async throws {
        self.store = store
        self.collection = collection
        try await store.meetNames(
            "INSERT INTO \(identifier: collection) DOCUMENTS ({'_id': -1, 'v': 0})", collection)
    }

    package func attempt(_ number: Int, _ random: SeededRandom) async throws {
        var random = random
        let notes = OperationRecorder()
        let invoked = recorder.now()
        var outcome = Attempt.Outcome.committed
        switch random.below(5) {
        case 0: try await readAll(notes) { try await store.execute($0) }
        case 1:
            let key = random.below(Self.count)
            let other = (key + 1 + random.below(Self.count - 1)) % Self.count
            notes.write(key, number * 4)
            notes.write(other, number * 4 + 1)
            notes.keep(
                try await store.execute(
                    """
                    INSERT INTO \(identifier: collection) DOCUMENTS \
                    ({'_id': \(key), 'v': \(number * 4)}), \
                    ({'_id': \(other), 'v': \(number * 4 + 1)}) ON ID CONFLICT DO UPDATE
                    """))
        default:
            let isReadOnly = random.chance(1, in: 3)
            let mode = Mode.draw(&random)
            outcome = try await store.run(mode, isReadOnly: isReadOnly) { [random] transaction in
                var random = random
                for step in 0..<2 + random.below(3) {
                    if random.chance(1, in: 4) {
                        try await readAll(notes) { try await transaction.execute($0) }
                    } else if isReadOnly || random.chance(1, in: 2) {
                        try await read(random.below(Self.count), transaction, notes)
                    } else {
                        let key = random.below(Self.count)
                        try await write(key, number * 4 + step % 4, transaction, notes)
                    }
                    if random.chance(1, in: 2) { await Task.yield() }
                }
            }
        }
        recorder.record(
            Attempt(
                invoked: invoked, completed: recorder.now(), outcome: outcome,
                commit: notes.commit, notes.operations))
    }

    private func read(_ key: Int, _ transaction: StoreTransaction, _ notes: OperationRecorder)
        async throws
    {
        let found = try await transaction.execute(
            "SELECT v FROM \(identifier: collection) WHERE _id = \(key)")
        notes.read(key, try found.items.map { try $0["v"]?.int ?? -1 })
        notes.keep(found)
    }

    private func readAll(
        _ notes: OperationRecorder, _ run: (DQL) async throws -> QueryResult
    ) async throws {
        let all = try await run("SELECT _id, v FROM \(identifier: collection)")
        var values: [Int: [Int]] = [:]
        for item in all.items { values[try item["_id"]?.int ?? -1] = [try item["v"]?.int ?? -1] }
        for key in 0..<Self.count { notes.read(key, values[key] ?? []) }
        notes.keep(all)
    }

    private func write(
        _ key: Int, _ value: Int, _ transaction: StoreTransaction, _ notes: OperationRecorder
    ) async throws {
        notes.write(key, value)
        notes.keep(
            try await transaction.execute(
                """
                INSERT INTO \(identifier: collection) DOCUMENTS ({'_id': \(key), 'v': \(value)}) \
                ON ID CONFLICT DO UPDATE
                """))
    }

    package func check() throws {
        try HistoryChecker.check(registers: recorder.history)
    }
}
