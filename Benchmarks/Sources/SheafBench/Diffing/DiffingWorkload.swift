import BenchHarness

/// Differences of two lists of items, represented by hashes of IDs and contents.
enum DiffingWorkload {
    static var workload: Workload {
        Workload(
            "diffing", "differences of two lists, in memory",
            cases: [
                test(
                    "diff-100k-1pct",
                    "100,000 items, 1 % of them inserted, deleted, changed and moved",
                    .mixed(count: 100_000)),
                test(
                    "diff-10k-50pct", "10,000 items, half of them changed",
                    .changed(count: 10_000)),
            ])
    }

    private static func test(
        _ name: String, _ summary: String, _ lists: @escaping @autoclosure () -> DiffingLists
    ) -> Case {
        Case(
            name, summary, unit: "ms", .lower,
            systems: [
                System("sheaf") { DiffingTrial.sheaf($0, lists()) },
                System("stdlib") { DiffingTrial.stdlib($0, lists()) },
            ])
    }
}
