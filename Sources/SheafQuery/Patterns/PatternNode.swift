/// A pattern as it was read.
enum PatternNode: Sendable {
    case scalar(UInt32)
    /// One scalar, whatever it is.
    case any
    case anyButNewline
    /// One scalar of the set with this index.
    case set(Int)
    case assertion(PatternAssertion)
    case sequence([PatternNode])
    case choice([PatternNode])
    /// Without `most`, any number of times.
    indirect case repetition(PatternNode, least: Int, most: Int?)

    /// `%`: any number of scalars, whatever they are.
    static let anything = PatternNode.repetition(.any, least: 0, most: nil)
}

/// What can be said of a place between two scalars.
enum PatternAssertion: Sendable {
    case textStart, textEnd, lineStart, lineEnd, wordBoundary, noWordBoundary
}
