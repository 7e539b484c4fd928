import Sheaf

/// A query on a collection: condition, order, limit and offset.
struct PendingQuery: Sendable {
    let collection: String
    /// A condition in the syntax of the older calls.
    let condition: String
    let arguments: [String: Value]
    /// The paths to sort by, and whether the order is descending.
    var orders: [(path: String, isDescending: Bool)] = []
    var limit: Int?
    var offset: Int?

    /// Returns the statement that applies `verb` to the matching documents.
    func statement(_ verb: DQL) throws -> DittoStatement {
        do throws(ConditionError) {
            return try translated(verb)
        } catch {
            throw DittoError.storeError(reason: .queryInvalid(message: error.description))
        }
    }

    private func translated(_ verb: DQL) throws(ConditionError) -> DittoStatement {
        var parser = try ConditionParser(
            condition, collection: collection, arguments: arguments)
        var text = try parser.condition()
        if !orders.isEmpty {
            let terms = try orders.map { (order) throws(ConditionError) in
                var parser = try ConditionParser(order.path, collection: collection)
                return try parser.field() + (order.isDescending ? " DESC" : " ASC")
            }
            text += " ORDER BY " + terms.joined(separator: ", ")
        }
        if let limit { text += " LIMIT \(limit)" }
        if let offset { text += " OFFSET \(offset)" }
        let query: DQL =
            "\(part: verb) FROM \(identifier: collection) WHERE \(part: DQL(verbatim: text))"
        return DittoStatement(older: query, parser.parameters)
    }
}
