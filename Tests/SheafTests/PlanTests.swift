import Sheaf
import SheafDocument
import SheafQuery
import Testing

/// The plans of statements, as EXPLAIN shows them.
@Suite struct PlanTests {
    @Test(arguments: PlanCase.names)
    func `the planner chooses the plan in each plan file`(_ name: String) throws {
        let expected = try PlanCase(name)
        let store = try CarFixtureStore()
        try store.fill(expected.documents)
        for change in expected.changes { try store.execute(change) }
        try store.flush()
        let plan = try store.planText(of: expected.statement, behind: expected.pending)
        #expect(plan == expected.plan, "\(name):\n\(plan)\n")
    }

    @Test(arguments: [64, 65])
    func `an OR of up to 64 conditions is a union of index scans`(count: Int) throws {
        let store = try CarFixtureStore()
        try store.fill(2_000)
        try store.execute("CREATE INDEX by_color ON cars (color)")
        try store.execute("CREATE INDEX by_mileage ON cars (mileage)")
        try store.flush()
        let conditions =
            ["color = 'none'"] + (1..<count).map { "mileage = \($0 * 500)" }
        let text = "SELECT * FROM cars WHERE " + conditions.joined(separator: " OR ")
        let plan = try store.planText(of: text, behind: [])
        #expect(plan.contains("unionScan") == (count == 64), "\(plan)")
        #expect(plan.contains("    scan cars") == (count == 65), "\(plan)")
    }

    @Test func `the folder of plans has at least 30 files`() {
        #expect(PlanCase.names.count >= 30)
    }
}
