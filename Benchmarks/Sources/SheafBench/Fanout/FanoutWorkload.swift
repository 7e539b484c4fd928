import BenchHarness

/// The latency from a commit to the callbacks of observers, and the memory of observers.
enum FanoutWorkload {
    /// The name of the system that runs the statements of all watchers again.
    private static let hooked = "sqlite-hook"
    /// The maximum number of watchers of that system; with more, a round takes minutes.
    private static let maximumWatchers = 10_000

    static var workload: Workload {
        Workload(
            "fanout", "observers of an in-memory store",
            cases: [
                points(1), points(1_000), points(10_000), points(100_000),
                Case(
                    "fanout-all-1000", "time added by each of 1,000 notified observers", unit: "µs",
                    .lower,
                    systems: [
                        System("sheaf") { try await FanoutAllTrial($0) },
                        System(hooked) { try HookedAllTrial($0) },
                    ]),
                Case(
                    "fanout-range", "latency from a write to an observer of 1,000 ordered rows",
                    unit: "µs", .lower, hasLatencies: true,
                    systems: [
                        System("sheaf") { try await FanoutTrial.range($0) },
                        System(hooked) { try HookedTrial.range($0) },
                    ]),
                Case(
                    "fanout-bytes", "memory per observer of one document", unit: "bytes",
                    .lower, systems: [System("sheaf") { _ in FanoutBytesTrial() }]),
            ])
    }

    private static func points(_ count: Int) -> Case {
        Case(
            "fanout-\(count)",
            "latency from a write to the matching one of \(count) observers",
            unit: "µs", .lower, hasLatencies: true,
            systems: [System("sheaf") { try await FanoutTrial.points($0, observers: count) }]
                + (count > maximumWatchers
                    ? [] : [System(hooked) { try HookedTrial.points($0, watchers: count) }]))
    }
}
