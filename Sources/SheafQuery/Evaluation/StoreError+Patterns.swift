package import SheafDocument
package import SheafText

extension StoreError {
    /// Creates the error of a pattern, located in the pattern.
    package init(_ error: PatternError) {
        let reason: Reason =
            switch error.kind {
            case .invalid: .argument
            case .limit: .limit
            }
        if let part = error.part {
            let range = SourceRange(part.range.lowerBound, part.range.upperBound)
            self.init(reason, error.message, hint: error.hint, at: range, in: part.pattern)
        } else {
            self.init(reason, error.message, hint: error.hint)
        }
    }

    /// Runs `body`; translates its errors.
    package static func ofPatterns<Result>(
        _ body: () throws(PatternError) -> Result
    ) throws(StoreError) -> Result {
        do throws(PatternError) { return try body() } catch { throw StoreError(error) }
    }
}
