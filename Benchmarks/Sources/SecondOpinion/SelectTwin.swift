import SheafDocument

/// A statement that reads, in both languages.
struct SelectTwin {
    /// A column of the answer: one value for Sheaf, two for SQLite.
    struct Column {
        /// Where Sheaf's rows have it.
        let path: [String]
        let twin: Twin
    }

    /// What is determined of the order of rows.
    enum Order {
        case none, total
        /// Of all rows that SQLite finds, which has no bounds then, so many in any order.
        case some(limit: Int, offset: Int)
        /// So many columns at the beginning are the keys; rows with equal ones come in any order.
        case keys(Int)
    }

    var columns: [Column] = []
    var arguments: [String: Value] = [:]
    var order = Order.none
    /// Whether a row stands for several, so that it may show 1 or 1.0 where both are in them.
    var isLoose = false
    var isDistinct = false
    /// Whether columns are called like fields, which they hide from ORDER BY alone.
    var hidesFields = false
    /// What USE IDS lists, as a condition.
    var ids = SQL.yes

    var condition: Twin?
    var groups: [Twin] = []
    var having: Twin?
    var terms: [(twin: Twin, isDescending: Bool)] = []
    var bounds: (sheaf: String, sqlite: String) = ("", "")
    var from: (sheaf: String, sqlite: String) = ("", "")
    /// What stands between SELECT and FROM for Sheaf.
    var columnTexts: [String] = []

    var sheaf: String {
        var text = "SELECT \(isDistinct ? "DISTINCT " : "")" + columnTexts.joined(separator: ", ")
        text += " FROM " + from.sheaf
        if let condition { text += " WHERE " + condition.sheaf }
        if !groups.isEmpty { text += " GROUP BY " + groups.map(\.sheaf).joined(separator: ", ") }
        if let having { text += " HAVING " + having.sheaf }
        if !terms.isEmpty {
            text +=
                " ORDER BY "
                + terms.map { $0.twin.sheaf + ($0.isDescending ? " DESC" : "") }
                .joined(separator: ", ")
        }
        return text + bounds.sheaf
    }

    var sqlite: String {
        var text = "SELECT \(isDistinct ? "DISTINCT " : "")"
        text += columns.map { "\($0.twin.value), \($0.twin.missing)" }.joined(separator: ", ")
        text += " FROM " + from.sqlite
        let condition = SQL.and([ids, condition?.value ?? SQL.yes])
        if condition != SQL.yes { text += " WHERE " + condition }
        if !groups.isEmpty {
            text += " GROUP BY " + groups.flatMap(\.groupTerms).joined(separator: ", ")
        }
        if let having { text += " HAVING " + having.value }
        let order = terms.flatMap { $0.twin.orderTerms(isDescending: $0.isDescending) }
        if !order.isEmpty { text += " ORDER BY " + order.joined(separator: ", ") }
        return text + bounds.sqlite
    }
}
