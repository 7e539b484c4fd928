/// How much a statement may ask for.
package enum QueryLimits {
    /// The bytes of a statement.
    package static let maximumLength = 1 << 20
    /// How deep expressions lie in one another.
    package static let maximumDepth = 128
    /// The terms of one chain of operators, of one list, of one object.
    package static let maximumTerms = 4_096
    /// The names of one path.
    package static let maximumPathLength = 64
    /// The bytes of a text or of bytes that a function makes.
    package static let maximumTextLength = 16 << 20
    /// The elements of an array that a function makes, and the parts of a value that is made.
    package static let maximumElements = 1 << 20
    /// The elements that a loop may visit, for one row.
    package static let maximumLoopSteps = 1 << 20
    /// How many loops may lie within one another.
    package static let maximumLoopNesting = 8
    /// The elements that a loop within another may visit, all its runs together: a short text can
    /// ask for very many.
    package static let maximumNestedSteps = 1 << 17
    /// The same, where loops lie deeper in one another.
    package static let maximumDeepSteps = 1 << 16
    /// The parts of a value that a loop makes, which loops around it make more of.
    package static let maximumLoopParts = 1 << 18
    package static let maximumJoins = 16
    /// The fields of an index.
    package static let maximumIndexFields = 16

    /// A sum of counts, as far as there are such numbers.
    static func sum(_ left: Int, _ right: Int) -> Int {
        let (sum, overflows) = left.addingReportingOverflow(right)
        return overflows ? .max : sum
    }
}
