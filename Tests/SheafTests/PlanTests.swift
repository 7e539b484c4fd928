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

    @Test func `the folder of plans has at least 30 files`() {
        #expect(PlanCase.names.count >= 30)
    }
}
