import SheafQueryModel
import Testing

/// Statements of which one part is long; `sheaf-queries --slowest` measures how long they take.
@Suite struct StretchedStatementTests {
    private static let forms = StretchedStatements.chains + StretchedStatements.lists
    @Test func `all chains and lists are statements that run`() throws {
        var statements = try StretchedStatements()
        for form in Self.forms {
            for count in [2, 40] {
                let timing = statements.measure(form.name, form.text(count))
                #expect(timing.isRun, "\(form.text(count))")
            }
        }
    }
}
