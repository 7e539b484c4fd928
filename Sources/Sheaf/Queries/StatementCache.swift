import SheafQuery

/// Statements that were parsed, by their texts; those that came longest ago are forgotten first.
struct StatementCache {
    private var statements: [String: (statement: Statement, use: UInt64)] = [:]
    private var uses: UInt64 = 0

    private static let maximumCount = 512
    /// Longer texts are mostly data that comes once.
    private static let maximumLength = 4_096

    mutating func find(_ text: String) -> Statement? {
        guard let found = statements[text], found.statement.text.utf8.elementsEqual(text.utf8)
        else { return nil }
        uses += 1
        statements[text]?.use = uses
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
        statements[statement.text] = (statement, uses)
    }
}
