import SheafDocument

/// A query in both languages.
struct DualSelect {
    /// A column of the result: one value in Sheaf, two in SQLite.
    struct Column {
        /// The path of the value in Sheaf's rows.
        let path: [String]
        let dual: DualExpression
    }

    /// The extent to which the order of rows is determined.
    enum Order {
        case none, total
        /// Sheaf returns any `limit` rows after `offset`; SQLite returns all rows.
        case some(limit: Int, offset: Int)
        /// The first columns are the sort keys; rows with equal keys have any order.
        case keys(Int)
    }

    var columns: [Column] = []
    var arguments: [String: Value] = [:]
    var order = Order.none
    /// Whether a row represents several documents, so that it may show either 1 or 1.0.
    var isLoose = false
    var isDistinct = false
    /// Whether aliases equal field names, which they hide in ORDER BY only.
    var hidesFields = false
    /// The IDs of USE IDS as an SQLite condition.
    var ids = SQL.yes

    var condition: DualExpression?
    var groups: [DualExpression] = []
    var having: DualExpression?
    var terms: [(twin: DualExpression, isDescending: Bool)] = []
    var bounds: (sheaf: String, sqlite: String) = ("", "")
    var from: (sheaf: String, sqlite: String) = ("", "")
    /// The select list for Sheaf.
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
        text += columns.map { "\($0.dual.value), \($0.dual.missing)" }.joined(separator: ", ")
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
