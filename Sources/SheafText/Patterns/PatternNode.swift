/// The syntax tree of a pattern.
enum PatternNode: Sendable {
    case scalar(UInt32)
    /// Any scalar.
    case any
    case anyButNewline
    /// A scalar of the set with this index.
    case set(Int)
    case assertion(PatternAssertion)
    case sequence([PatternNode])
    case choice([PatternNode])
    /// A repetition; unlimited if `most` is nil.
    indirect case repetition(PatternNode, least: Int, most: Int?)

    /// `%`, any number of scalars.
    static let anything = PatternNode.repetition(.any, least: 0, most: nil)
}

/// A condition on a position between two scalars.
enum PatternAssertion: Sendable {
    case textStart, textEnd, lineStart, lineEnd, wordBoundary, noWordBoundary
}
