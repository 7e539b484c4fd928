import SheafQuery
import SheafStatements

/// The statement of an empty result.
///
/// A class, so that a result with rows has only one empty reference more.
final class EmptyResultQuestion: Sendable {
    private let statement: Statement
    private let arguments: ArgumentValues
    private let isStrict: Bool

    init(_ statement: Statement, _ arguments: ArgumentValues, isStrict: Bool) {
        self.statement = statement
        self.arguments = arguments
        self.isStrict = isStrict
    }

    /// Returns the notes on the result of the statement.
    func notes(on storage: ResultStorage) -> [String] {
        storage.notes(statement, arguments, isStrict: isStrict)
    }
}
