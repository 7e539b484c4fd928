import Foundation

/// A part of a source file that mutants change.
struct Site: Encodable {
    /// The way in which a mutant is written into the source.
    enum Form: String, Encodable {
        /// The text is an expression, and the change another one.
        case expression
        /// The text is a statement, which the mutant does not execute.
        case removal
        /// The change is a statement, inserted at the start of a body.
        case insertion
    }

    /// Path of the file, relative to the root of the package.
    var path: String
    /// First line of the text; the first line of a file is 1.
    var line: Int
    /// Offsets in bytes of the text.
    var start: Int, end: Int
    /// Lines of the innermost declaration that contains the text.
    var declaration: ClosedRange<Int>
    /// The kind of change, as reports name it.
    var kind: String
    /// The form of the mutants.
    var form: Form
    /// The text as it is.
    var before: String
    /// The texts of the mutants, each of which replaces `before`.
    var changes: [String]
}
