import SheafQueryModel
import Testing

/// Statements with one long part; `sheaf-check queries --slowest` measures their run time.
@Suite struct LongStatementTests {
    private static let forms = LongStatementTiming.chains + LongStatementTiming.lists
    @Test func `statements with long chains and lists run`() throws {
        var statements = try LongStatementTiming()
        for form in Self.forms {
            for count in [2, 40] {
                let timing = statements.measure(form.name, form.text(count))
                #expect(timing.isRun, "\(form.text(count))")
            }
        }
    }
}
