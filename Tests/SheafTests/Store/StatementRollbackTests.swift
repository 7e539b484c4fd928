import Sheaf
import SheafDocument
import SheafStatements
import SheafStorage
import SheafSystem
import SheafTestSupport
import Synchronization
import Testing

/// Transactions with failing statements, compared with the same transactions without them.
struct StatementRollbackTests {
    /// The statements of a transaction, and whether it commits.
    private struct Script {
        var statements: [DQL] = []
        var isKept = true
    }

    /// The results of statements, nil for those that failed.
    private typealias Outcomes = [String?]

    @Test func `a failed statement leaves no trace in the files`() async throws {
        let seed = UInt64.random(in: 0..<1_000_000_000)
        print("undone statements, seed \(seed)")
        var (failures, successes) = (0, 0)
        // The last two seeds contain a failed statement that affects a later plan, and a failure
        // after the eviction of a document inserted in the same transaction.
        for seed in (0..<40).map({ seed &+ $0 }) + [265_576_971, 800_839_717] {
            var random = SeededRandom(seed: seed, "scripts")
            let scripts = (0..<6).map { _ in script(&random) }
            let directories = [TemporaryDirectory(), TemporaryDirectory()]
            let all = try await run(scripts, at: directories[0].path)
            // The second run omits the statements that failed.
            let whole = zip(scripts, all).map { script, outcomes in
                var script = script
                script.statements = zip(script.statements, outcomes).compactMap {
                    $1 == nil ? nil : $0
                }
                return script
            }
            let rest = try await run(whole, at: directories[1].path)
            for (all, rest) in zip(all, rest) {
                #expect(rest == all.filter { $0 != nil })
                failures += all.count { $0 == nil }
                successes += rest.count
            }
            let files = try directories.map { try bytes(in: $0.path) }
            // The files are compared outside of #expect, which would print all bytes.
            let isSame = files[0] == files[1]
            #expect(isSame, "seed \(seed)")
        }
        print("\(failures) statements failed, \(successes) succeeded")
        #expect(failures > 100 && successes > 100)
    }

    @Test func `a document that is too long is neither inserted nor changed`() async throws {
        let directory = TemporaryDirectory()
        let store = try await Store.open(at: directory.path)
        try await store.execute("ALTER SYSTEM SET document_size_hard_limit_bytes = 1000")
        let text = String(repeating: "x", count: 2_000)
        let long: Value = ["_id": "a", "text": .string(text)]
        try await store.transaction { transaction in
            try await transaction.execute("INSERT INTO t DOCUMENTS ({'_id': 'b', 'text': 'short'})")
            let inserted = await #expect(throws: StoreError.self) {
                try await transaction.execute(
                    "INSERT INTO t DOCUMENTS (:long)", QueryArguments(["long": long]))
            }
            #expect(inserted?.reason == .limit)
            let changed = await #expect(throws: StoreError.self) {
                try await transaction.execute(
                    "UPDATE t SET text = :text WHERE _id = 'b'",
                    QueryArguments(["text": .string(text)]))
            }
            #expect(changed?.reason == .limit)
            let rows = try await transaction.execute("SELECT * FROM t").items
            #expect(try rows.map { try $0["text"] } == ["short"])
            return .commit
        }
        try await store.close()
    }

    /// Runs transactions on a new store with a constant clock.
    private func run(_ scripts: [Script], at path: String) async throws -> [Outcomes] {
        var options = StoreOptions()
        let random = Mutex(SeededRandom(seed: 1, "store"))
        options.storage.random = { random.withLock { $0.next() } }
        options.storage.clock = Clock(
            wallMilliseconds: { 1_780_000_000_000 },
            monotonicNanoseconds: Clock.system.monotonicNanoseconds)
        options.storage.runsMaintenance = false
        // The identity is stored with the site.
        options.storage.identity = 1
        let store = try await Store.open(at: path, options: options)
        try await store.execute("CREATE INDEX byV ON t (v)")
        var all: [Outcomes] = []
        for script in scripts {
            var outcomes: Outcomes = []
            try await store.transaction { transaction in
                for statement in script.statements {
                    outcomes.append(try await outcome(of: statement, in: transaction))
                }
                return script.isKept ? .commit : .rollback
            }
            let seen = try await store.execute("SELECT * FROM t ORDER BY _id")
            outcomes.append(try text(seen))
            let collections = try await store.execute("SELECT * FROM system:collections")
            outcomes.append(try text(collections))
            all.append(outcomes)
        }
        try await store.close()
        return all
    }

    private func outcome(
        of statement: DQL, in transaction: StoreTransaction
    ) async throws -> String? {
        do {
            return try text(try await transaction.execute(statement))
        } catch is StoreError {
            return nil
        }
    }

    private func text(_ result: QueryResult) throws -> String {
        let rows = try result.items.map { try $0.jsonString }
        return "\(result.mutatedDocumentIDs.map(\.json)) \(rows)"
    }

    private func bytes(in path: String) throws -> [String: [UInt8]] {
        let volume = try PosixVolume(path: path, creatingDirectory: false)
        var files: [String: [UInt8]] = [:]
        for name in try volume.names() where name != "LOCK" && name != "SYNCED" {
            files[name] = try volume.contents(of: name)
        }
        return files
    }

    private func script(_ random: inout SeededRandom) -> Script {
        Script(
            statements: (0..<1 + random.below(12)).map { _ in statement(&random) },
            isKept: !random.chance(1, in: 5))
    }

    /// Returns a random statement, which may fail after its first document.
    private func statement(_ random: inout SeededRandom) -> DQL {
        let ids = (0..<3).map { _ in random.below(9) }
        let value = random.below(5)
        let field = "f\(random.below(12))"
        switch random.below(12) {
        case 0, 1, 2:
            return """
                INSERT INTO t DOCUMENTS ({'_id': \(ids[0]), 'v': \(value)}), \
                ({'_id': \(ids[1]), \(identifier: field): {'a': \(value)}}), \
                ({'_id': \(ids[2]), 'v': 'text'})
                """
        case 3:
            let collection = "c\(random.below(6))"
            return """
                INSERT INTO \(identifier: collection) DOCUMENTS \
                ({'_id': \(ids[0]), \(identifier: field): 1}), ({'_id': \(ids[1])})
                """
        case 4:
            return """
                INSERT INTO t DOCUMENTS ({'_id': \(ids[0]), 'v': \(value), \(identifier: field): 2}) \
                ON ID CONFLICT DO UPDATE
                """
        case 5:
            return """
                UPDATE t SET v = \(value), \(identifier: field) = v WHERE _id IN (\(ids[0]), \(ids[1]))
                """
        case 6: return "UPDATE t SET v = v + 1 WHERE v >= \(value) RETURNING _id, v"
        case 7: return "DELETE FROM t WHERE _id = \(ids[0])"
        case 8: return "EVICT FROM t WHERE v = \(value)"
        case 9: return "INSERT INTO t SELECT _id + 3 AS _id, v FROM t WHERE v < \(value)"
        case 10: return "UPDATE t SET _id = \(ids[0])"
        default: return "SELECT _id, v FROM t WHERE v >= \(value) ORDER BY v, _id"
        }
    }
}
