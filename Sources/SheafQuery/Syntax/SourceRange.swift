/// A range of a statement, in bytes.
package struct SourceRange: Hashable, Sendable {
    package let lower: Int
    package let upper: Int

    package init(_ lower: Int, _ upper: Int) {
        self.lower = lower
        self.upper = upper
    }

    /// Returns the range from the start of this one to the end of `other`.
    package func through(_ other: SourceRange) -> SourceRange {
        SourceRange(lower, max(upper, other.upper))
    }
}
