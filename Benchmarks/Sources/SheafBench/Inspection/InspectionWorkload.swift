import BenchHarness

/// Commits of a program with and without an open inspector.
enum InspectionWorkload {
    static var workload: Workload {
        Workload(
            "inspection", "commits of a store with and without an open inspector",
            cases: [
                Case(
                    "commits", "durable insertions of single documents by one caller",
                    unit: "commits/s", .higher,
                    systems: [
                        System("sheaf") { try await InspectedTrial($0, isInspected: false) },
                        System("inspected") { try await InspectedTrial($0, isInspected: true) },
                    ])
            ])
    }
}
