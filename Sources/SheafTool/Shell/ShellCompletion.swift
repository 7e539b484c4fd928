import SheafCompletion
import SheafLineEditor
import SheafStore

/// The completion of words by the Tab key.
final class ShellCompletion {
    private let statements = StatementCompletion()

    /// Returns the candidates for insertion between two texts of a line.
    ///
    /// `pending` has the earlier lines of the statement.
    func completion(
        _ before: String, _ after: String, pending: String, _ session: ShellSession
    ) -> LineCompletion {
        let store = session.store.current
        guard pending.isEmpty, before.trimmingSpaces.hasPrefix(".") else {
            return statement(before, after, pending: pending, in: store)
        }
        return command(before, after, in: store)
    }

    /// Returns the candidates for insertion in a statement.
    func statement(
        _ before: String, _ after: String, pending: String, in store: Store?
    ) -> LineCompletion {
        let answer = statements.answer(pending + before, after, in: store)
        return Self.line(answer.prefix, answer.candidates)
    }

    /// Returns the words that begin with a prefix, in any case.
    func matching(
        _ prefix: String, _ words: [StatementCompletion.Candidate]
    ) -> LineCompletion {
        Self.line(prefix, StatementCompletion.matching(prefix, words))
    }

    private static func line(
        _ prefix: String, _ candidates: [StatementCompletion.Candidate]
    ) -> LineCompletion {
        LineCompletion(
            replacing: prefix.unicodeScalars.count,
            candidates.map { .init($0.text, label: $0.label, isComplete: $0.isComplete) })
    }
}
