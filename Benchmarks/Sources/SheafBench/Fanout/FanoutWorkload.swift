import BenchHarness

/// Observers of queries, and how long after a commit they hear of it.
enum FanoutWorkload {
    static var workload: Workload {
        Workload(
            "fanout", "observers of a store in memory",
            cases: [
                points(1), points(1_000), points(10_000), points(100_000),
                Case(
                    "fanout-all-1000", "what each of 1,000 adds that a commit concerns", unit: "µs",
                    .lower, systems: [System("sheaf") { try await FanoutAllTrial($0) }]),
                Case(
                    "fanout-range", "from a call that changes a row of 1,000 to their observer",
                    unit: "µs", .lower, hasLatencies: true,
                    systems: [System("sheaf") { try await FanoutTrial.range($0) }]),
                Case(
                    "fanout-bytes", "the memory of an observer of one document", unit: "bytes",
                    .lower, systems: [System("sheaf") { _ in FanoutBytesTrial() }]),
            ])
    }

    private static func points(_ count: Int) -> Case {
        Case(
            "fanout-\(count)",
            "from a call that writes to the one of \(count) observers that it concerns",
            unit: "µs", .lower, hasLatencies: true,
            systems: [System("sheaf") { try await FanoutTrial.points($0, observers: count) }])
    }
}
