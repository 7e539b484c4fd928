import SheafDocument
package import SheafQuery

/// A translator of statements to those that a user of SQLite would write.
///
/// Each collection is a table with the columns `_id` and `doc`, a JSON text; fields are read with
/// `json_extract`, so that indexes on it apply; the exact expressions of `sheaf-second-opinion`
/// would prevent that. Meanings therefore differ in corner cases, such as comparisons of different
/// types: `WorkloadComparison` compares results before anything is measured.
package struct SQLTranslator {
    /// The reason why a statement has no counterpart in SQLite.
    package struct Untranslatable: Error, Equatable, CustomStringConvertible {
        package let description: String

        init(_ description: String) {
            self.description = description
        }
    }

    /// A statement of SQLite.
    package struct Translation: Sendable {
        package var sql: String
        /// Collections that the statement uses.
        package var collections: Set<String>
        /// The names of the columns of a result; nil for complete documents in `_id` and `doc`.
        package var columns: [String]?
        /// Parameters that are inserted as documents: each is bound as an ID and a JSON text.
        package var documents: Set<String>
    }

    let kinds: [String: Generator.Kind]
    /// The aliases of the sources; nil if there is only one, which needs none.
    var aliases: [String: String] = [:]
    var collections: Set<String> = []
    var documents: Set<String> = []

    private init(_ kinds: [String: Generator.Kind]) {
        self.kinds = kinds
    }

    /// Translates a statement whose arguments have these types.
    package static func translate(
        _ statement: Statement, kinds: [String: Generator.Kind]
    ) throws(Untranslatable) -> Translation {
        var translator = SQLTranslator(kinds)
        return try translator.translation(of: statement.body)
    }

    private mutating func translation(
        of body: Statement.Body
    ) throws(Untranslatable) -> Translation {
        var columns: [String]? = []
        let sql: String
        switch body {
        case .select(let select):
            sql = try self.select(select)
            columns = try names(of: select.columns)
        case .insert(let insert):
            sql = try self.insert(insert)
            columns = try names(of: insert.returning)
        case .update(let update):
            sql = try self.update(update)
            columns = try names(of: update.returning)
        case .delete(let delete):
            sql = try self.delete(delete)
            columns = try names(of: delete.returning)
        case .createIndex(let index): sql = try createIndex(index)
        case .dropIndex(let index):
            let condition = index.allowsMissing ? "IF EXISTS " : ""
            let name = "\(index.collection.text) \(index.name.text)"
            sql = "DROP INDEX \(condition)\(Self.quoted(name))"
        default: throw Untranslatable("it is a statement about the store")
        }
        return Translation(
            sql: sql, collections: collections, columns: columns, documents: documents)
    }

    // MARK: Sources and columns

    /// Returns a name in double quotes.
    static func quoted(_ name: String) -> String {
        "\"" + name.replacing("\"", with: "\"\"") + "\""
    }

    /// Returns a text as a literal.
    static func literal(_ text: String) -> String {
        "'" + text.replacing("'", with: "''") + "'"
    }

    mutating func table(_ source: Source) throws(Untranslatable) -> String {
        let name = source.name.text
        guard !name.contains(":") else { throw Untranslatable("\(name) is a system collection") }
        collections.insert(name)
        let alias = source.alias?.text ?? name
        aliases[alias] = alias
        return Self.quoted(name)
            + (source.alias.map { " AS \(Self.quoted($0.text))" } ?? "")
    }

    /// Returns the condition of USE IDS.
    func identifiers(_ source: Source) throws(Untranslatable) -> String? {
        switch source.ids {
        case nil: nil
        case .list(let ids):
            "_id IN (\(try list(ids)))"
        case .expression(let ids): "_id IN \(try members(ids))"
        }
    }

    private func names(of columns: [ResultColumn]) throws(Untranslatable) -> [String]? {
        if columns.count == 1, case .all = columns[0] { return nil }
        var names: [String] = []
        for (index, column) in columns.enumerated() {
            guard case .expression(let expression, let alias) = column else {
                throw Untranslatable("* with other columns has no counterpart")
            }
            if let alias {
                names.append(alias.text)
            } else if case .path(let path) = expression.node, let last = path.last {
                names.append(last)
            } else {
                names.append("($\(index + 1))")
            }
        }
        return names
    }

    func list(columns: [ResultColumn]) throws(Untranslatable) -> String {
        var texts: [String] = []
        for column in columns {
            switch column {
            case .all:
                guard columns.count == 1, aliases.count == 1 else {
                    throw Untranslatable("* of a join has no counterpart")
                }
                texts.append("_id, doc")
            case .expression(let expression, let alias):
                let text = try self.expression(expression)
                texts.append(text + (alias.map { " AS \(Self.quoted($0.text))" } ?? ""))
            }
        }
        return texts.joined(separator: ", ")
    }

    // MARK: SELECT

    private mutating func select(_ select: Select) throws(Untranslatable) -> String {
        var from = " FROM " + (try table(select.source))
        var tables: [(JoinClause, String)] = []
        for join in select.joins { tables.append((join, try table(join.source))) }
        for (join, table) in tables {
            from += " \(join.kind.rawValue) JOIN \(table) ON \(try expression(join.condition))"
        }
        var conditions: [String] = []
        if let ids = try identifiers(select.source) { conditions.append(ids) }
        if let condition = select.condition { conditions.append(try expression(condition)) }
        var text = "SELECT \(select.isDistinct ? "DISTINCT " : "")"
        text += try list(columns: select.columns) + from
        text += Self.conjunction(conditions)
        if !select.groups.isEmpty { text += " GROUP BY \(try list(select.groups))" }
        if let having = select.having { text += " HAVING \(try expression(having))" }
        return text + (try ordering(select.ordering))
    }

    static func conjunction(_ conditions: [String]) -> String {
        conditions.isEmpty ? "" : " WHERE " + conditions.joined(separator: " AND ")
    }

    private func ordering(_ ordering: Ordering) throws(Untranslatable) -> String {
        var text = ""
        var terms: [String] = []
        for term in ordering.terms {
            terms.append(try expression(term.expression) + (term.isDescending ? " DESC" : ""))
        }
        if !terms.isEmpty { text += " ORDER BY " + terms.joined(separator: ", ") }
        if let limit = ordering.limit {
            text += " LIMIT \(try expression(limit))"
        } else if ordering.offset != nil {
            text += " LIMIT -1"
        }
        if let offset = ordering.offset { text += " OFFSET \(try expression(offset))" }
        return text
    }

    // MARK: Indexes

    private mutating func createIndex(_ index: CreateIndex) throws(Untranslatable) -> String {
        collections.insert(index.collection.text)
        let fields = index.fields.map {
            Self.field($0.path.names, of: nil) + ($0.isDescending ? " DESC" : "")
        }
        // Names of indexes are unique in a database.
        let name = Self.quoted("\(index.collection.text) \(index.name.text)")
        return "CREATE INDEX \(index.allowsExisting ? "IF NOT EXISTS " : "")\(name) ON "
            + "\(Self.quoted(index.collection.text))(\(fields.joined(separator: ", ")))"
    }

    /// Returns a field, with the alias of its table in a join.
    static func field(_ path: [String], of alias: String?) -> String {
        let prefix = alias.map { quoted($0) + "." } ?? ""
        if path == ["_id"] { return prefix + "_id" }
        return "json_extract(\(prefix)doc, \(jsonPath(path)))"
    }

    /// Returns a path as a literal for the JSON functions.
    static func jsonPath(_ path: [String]) -> String {
        literal("$" + path.map { ".\"\($0)\"" }.joined())
    }
}
