import BenchHarness
import BenchWorkloads

/// Documents through the public API: single statements and large transactions.
enum TransactionsWorkload {
    static var workload: Workload {
        Workload(
            "transactions", "100,000 documents of about 250 bytes, through the public API",
            cases: [get, fieldGet, arrayInsert, load, millionLoad, update, delete]
                + [durable(callers: 1), durable(callers: 8), durable(callers: 64), overhead]
                + [documentMemory, updateMemory])
    }

    private static var get: Case {
        Case(
            "api-get", "get a document by its _id, one statement each", unit: "gets/s",
            .higher,
            systems: [SheafCars.peer, SQLiteCars.peer, LMDBCars.peer].map { peer in
                System(peer.name) { try await CarGetTrial(peer, $0) }
            })
    }

    private static var fieldGet: Case {
        Case(
            "api-get-field",
            "get a document by its _id and decode one field: Sheaf's typed call "
                + "and a statement, the same bytes in LMDB, a prepared json_extract in SQLite",
            unit: "gets/s", .higher,
            systems: [
                System("sheaf") { try await FieldGetTrial(.typed, $0) },
                System("statement") { try await FieldGetTrial(.statement, $0) },
                System("lmdb") { try await FieldGetTrial(.lmdb, $0) },
                System("sqlite") { try await FieldGetTrial(.sqlite, $0) },
            ])
    }

    private static var arrayInsert: Case {
        Case(
            "api-insert-array",
            "insert an array of 10,000 in one durable commit: the typed call, "
                + "and a transaction that executes an INSERT for each",
            unit: "documents/s", .higher,
            systems: [
                System("sheaf") { try ArrayInsertTrial($0, isTyped: true) },
                System("loop") { try ArrayInsertTrial($0, isTyped: false) },
            ])
    }

    private static var load: Case {
        Case(
            "api-load-1000", "inserts in durable transactions of 1,000 statements",
            unit: "documents/s", .higher,
            systems: loaders { $0.pick(PreparedCars.count, quick: 20_000) })
    }

    private static var millionLoad: Case {
        Case(
            "api-load-1000-1m",
            "1,000,000 inserts in durable transactions of 1,000 statements",
            unit: "documents/s", .higher,
            systems: loaders { $0.pick(1_000_000, quick: 100_000) })
    }

    /// Returns the systems that load an empty database; DuckDB by transactions and from a file.
    private static func loaders(_ count: @escaping (Scale) -> Int) -> [System] {
        both { peer, stage in try CarLoadTrial(peer, stage, count: count(stage.scale)) } + [
            System(DuckDBProcess.system) {
                try DuckDBLoadTrial($0, count: count($0.scale), .transactions)
            },
            System("duckdb-file") {
                try DuckDBLoadTrial($0, count: count($0.scale), .file)
            },
        ]
    }

    private static var update: Case {
        Case(
            "api-update-indexed", "set an indexed field, durable transactions of 1,000 statements",
            unit: "documents/s", .higher,
            systems: both { peer, stage in try await CarChangeTrial(peer, stage, .update) })
    }

    private static var delete: Case {
        Case(
            "api-delete", "delete by _id, in durable transactions of 1,000 statements",
            unit: "documents/s", .higher,
            systems: both { peer, stage in try await CarChangeTrial(peer, stage, .delete) })
    }

    private static func durable(callers: Int) -> Case {
        Case(
            "api-durable-\(callers)", "one insert per commit, \(callers) concurrent callers",
            unit: "commits/s", .higher, hasLatencies: true,
            systems: both { peer, stage in
                try await CarDurableTrial(peer, stage, callers: callers)
            })
    }

    private static var overhead: Case {
        Case(
            "api-read-overhead", "a public read call minus the synchronous call inside it",
            unit: "ns", .lower,
            systems: [
                System("sheaf") { try await CarOverheadTrial($0, .difference) },
                System("call") { try await CarOverheadTrial($0, .call) },
                System("core") { try await CarOverheadTrial($0, .core) },
            ])
    }

    private static var documentMemory: Case {
        Case(
            "memory-document", "memory of a store per document with two indexes",
            unit: "bytes", .lower, systems: [System("sheaf") { try DocumentMemoryTrial($0) }])
    }

    private static var updateMemory: Case {
        Case(
            "memory-update", "highest memory of a transaction that updates 1,000,000 documents",
            unit: "MB", .lower, systems: [System("sheaf") { try UpdateMemoryTrial($0) }])
    }

    private static func both(
        _ prepare: @escaping (CarPeer, Stage) async throws -> any Trial
    ) -> [System] {
        [SheafCars.peer, SQLiteCars.peer].map { peer in
            System(peer.name) { try await prepare(peer, $0) }
        }
    }
}
