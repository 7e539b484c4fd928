/// The input of the user at a prompt.
package enum LineInput: Equatable, Sendable {
    /// A line, or the lines of an entry recalled from the history, without the last line feed.
    case text(String)
    /// Ctrl-C: the line was discarded.
    case interruption
    /// Ctrl-D on an empty line, or the end of the input.
    case end
}
