/// Limits on statements and on the values they compute.
package enum QueryLimits {
    /// Maximum length of a statement, in bytes.
    package static let maximumLength = 1 << 20
    /// Maximum nesting of expressions.
    package static let maximumDepth = 128
    /// Maximum number of terms in a chain of operators, a list or an object.
    package static let maximumTerms = 4_096
    /// Maximum number of names in a path.
    package static let maximumPathLength = 64
    /// Maximum length of a string or byte string that a function returns, in bytes.
    package static let maximumTextLength = 16 << 20
    /// Maximum number of elements of a computed array, and of values within a computed value.
    package static let maximumElements = 1 << 20
    /// Maximum number of elements visited by a loop, for one row.
    package static let maximumLoopSteps = 1 << 20
    /// Maximum nesting of loops.
    package static let maximumLoopNesting = 8
    /// Maximum number of elements that a nested loop and the loops around it visit, for one row.
    ///
    /// Otherwise, the work of a short statement could grow exponentially with its nesting.
    package static let maximumNestedSteps = 1 << 17
    /// The same limit for a loop at the third or a deeper level.
    package static let maximumDeepSteps = 1 << 16
    /// Maximum number of values within the result of a loop, which enclosing loops may multiply.
    package static let maximumLoopParts = 1 << 18
    package static let maximumJoins = 16
    /// Maximum number of index scans in a union; beyond it the collection is read completely.
    package static let maximumScans = 64
    /// Maximum memory of the hash table of a join, in bytes; greater tables are made in parts.
    package static let maximumHashBytes = 64 << 20
    /// Maximum number of fields in an index.
    package static let maximumIndexFields = 16

    /// Returns the sum of two counts, or `Int.max` on overflow.
    static func sum(_ left: Int, _ right: Int) -> Int {
        let (sum, overflows) = left.addingReportingOverflow(right)
        return overflows ? .max : sum
    }
}
