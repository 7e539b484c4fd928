import SheafQueryModel
import Testing

/// Statements that are long take longer, but not beyond all measure.
@Suite struct StretchedStatementTests {
    private static let forms = StretchedStatements.chains + StretchedStatements.lists
    /// So much longer is the longer of two statements.
    private static let factor = 8
    /// What takes less is mostly not about the length.
    private static let leastMicroseconds: UInt64 = 2_000

    @Test(arguments: forms.indices)
    func `the work on a statement does not grow with the square of its length`(
        _ index: Int
    ) throws {
        let form = Self.forms[index]
        var statements = try StretchedStatements()
        /// The least of some attempts: work that is not its own only adds to it.
        func microseconds(_ count: Int) -> UInt64 {
            (0..<3).map { _ in statements.measure(form.name, form.text(count)).microseconds }
                .min() ?? 0
        }
        let short = max(microseconds(200), Self.leastMicroseconds)
        let long = microseconds(200 * Self.factor)
        // In proportion it is the factor, and its square is 64.
        #expect(long < short * 3 * UInt64(Self.factor), "\(form.name): \(short) and \(long) µs")
    }

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
