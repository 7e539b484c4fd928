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

    /// True between these two scalars.
    func holds(between previous: UInt32, and next: UInt32) -> Bool {
        switch self {
        case .textStart: previous == UTF8Walk.none
        case .textEnd: next == UTF8Walk.none
        case .lineStart: previous == UTF8Walk.none || previous == 0x0A
        case .lineEnd: next == UTF8Walk.none || next == 0x0A
        case .wordBoundary: ScalarSet.isWord(previous) != ScalarSet.isWord(next)
        case .noWordBoundary: ScalarSet.isWord(previous) == ScalarSet.isWord(next)
        }
    }
}
