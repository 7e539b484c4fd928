import BenchHarness

/// The same statements on the current state and AS OF earlier commits.
///
/// `sheaf` reads the current state, so the last column of the table shows how many times as long
/// the statement takes AS OF another one.
enum PastWorkload {
    static var workload: Workload {
        Workload(
            "past", "statements AS OF earlier commits, compared with those on the current state",
            cases: [
                makeCase("count", "COUNT(*) with a condition on two fields", .count, isCold: false),
                makeCase(
                    "count-cold", "the same, with the earlier state made by the statement", .count,
                    isCold: true),
                makeCase("get", "a document by its _id", .get, isCold: false),
                makeCase(
                    "get-cold", "the same, with the earlier state made by the statement", .get,
                    isCold: true),
            ])
    }

    private static func makeCase(
        _ name: String, _ summary: String, _ statement: PastStatement, isCold: Bool
    ) -> Case {
        let shared = SharedPastStore()
        return Case(
            name, summary, unit: statement == .count ? "ms" : "µs", .lower,
            systems: PastPosition.allCases.map { position in
                System(position.rawValue) { stage in
                    PastTrial(try shared.open(stage), shared, statement, position, stage, isCold)
                }
            })
    }
}

/// A statement of the workload.
enum PastStatement {
    case count, get
}

/// The state that a statement reads.
enum PastPosition: String, CaseIterable {
    case current = "sheaf"
    case newest
    case previous
    case byTime = "previous-time"
    case hundredth = "100-before"
}
