import BenchHarness

/// Imports of files into an empty database.
enum ImportWorkload {
    static var workload: Workload {
        Workload(
            "import", "1,000,000 rows of 250 bytes from a file in the page cache",
            cases: [
                Case(
                    "import-lines", "JSON lines as documents with generated ids; durable commits",
                    unit: "rows/s", .higher,
                    systems: [
                        System("sheaf") { try SheafImportTrial($0, .jsonl) },
                        System("sqlite") { try SQLiteImportTrial($0) },
                    ]),
                Case(
                    "import-csv", "the same as CSV, whose types are inferred first",
                    unit: "rows/s", .higher,
                    systems: [System("sheaf") { try SheafImportTrial($0, .csv) }]),
            ])
    }
}
