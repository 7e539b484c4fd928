import SheafDocument
import SheafQuery

/// Statements that were parsed, by their texts; those that came longest ago are forgotten first.
struct StatementCache {
    private final class Entry {
        let statement: Statement
        var use: UInt64

        init(_ statement: Statement, use: UInt64) {
            self.statement = statement
            self.use = use
        }
    }

    private var statements: [String: Entry] = [:]
    private var uses: UInt64 = 0

    private static let maximumCount = 512
    /// Longer texts are mostly data that comes once.
    private static let maximumLength = 4_096

    mutating func find(_ text: String) -> Statement? {
        // Others may only look the same.
        guard let found = statements[text],
            UTF8Order.compare(found.statement.text, text) == 0
        else {
            return nil
        }
        uses += 1
        found.use = uses
        return found.statement
    }

    mutating func insert(_ statement: Statement) {
        guard statement.text.utf8.count <= Self.maximumLength else { return }
        if statements.count >= Self.maximumCount {
            // Half at a time, so that not every new statement looks for the oldest one.
            let middle = statements.values.map(\.use).sorted()[Self.maximumCount / 2]
            statements = statements.filter { $0.value.use > middle }
        }
        uses += 1
        statements[statement.text] = Entry(statement, use: uses)
    }
}
