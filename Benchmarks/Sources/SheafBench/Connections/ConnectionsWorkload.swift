import BenchHarness

/// The time of the replication thread for an event, beside idle connections.
enum ConnectionsWorkload {
    static var workload: Workload {
        let counts = [10, 1_000, 10_000]
        return Workload(
            "connections", "events of a replicator with idle connections",
            cases: counts.map { frames($0) } + counts.map { commits($0, subscribe: false) }
                + counts.map { commits($0, subscribe: true) }
                + [
                    Case(
                        "idle-bytes", "memory per idle connection of a replicator, without TLS",
                        unit: "bytes", .lower,
                        systems: [System("sheaf") { _ in IdleBytesTrial() }])
                ])
    }

    private static func frames(_ count: Int) -> Case {
        Case(
            "frame-idle-\(count)", "a small frame of one of \(count) connections", unit: "µs",
            .lower,
            systems: [
                System("sheaf") { stage in
                    FrameTrial(
                        try await ConnectionCrowd(count, subscribe: false),
                        frames: stage.scale.pick(2_000, quick: 200))
                }
            ])
    }

    private static func commits(_ count: Int, subscribe: Bool) -> Case {
        Case(
            "commit-\(subscribe ? "subscribed" : "idle")-\(count)",
            "a commit that concerns none of \(count) connections"
                + (subscribe ? ", which subscribe to another collection" : ""),
            unit: "µs", .lower,
            systems: [
                System("sheaf") { stage in
                    CommitTrial(
                        try await ConnectionCrowd(count, subscribe: subscribe),
                        commits: stage.scale.pick(200, quick: 20))
                }
            ])
    }
}
