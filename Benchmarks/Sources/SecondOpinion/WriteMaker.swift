import SheafDocument

/// A writing statement in both languages.
struct WriteTwin {
    var sheaf: String
    var arguments: [String: Value] = [:]
    /// SQLite's statements with the values of their parameters.
    var sqlite: [(text: String, values: [Value])] = []
    /// An SQLite query for the IDs to be written, run before; nil if SQLite cannot determine them.
    var ids: String?
    /// The columns of RETURNING and their collection.
    var returning = DualSelect()
    /// Whether RETURNING shows the documents as they were before the write.
    var isReturnedBefore = false
}

/// A generator of random writing statements.
struct WriteMaker {
    var maker: DualExpressionMaker

    init(seed: UInt64) {
        maker = DualExpressionMaker(seed: seed, "writes")
    }

    mutating func write() -> WriteTwin {
        let collection = begin()
        switch maker.below(9) {
        case 0, 1: return insert(into: collection, count: 1 + maker.below(4))
        case 8: return copy(from: collection)
        case 2: return delete(from: collection)
        default: return update(collection)
        }
    }

    /// Adds RETURNING to a third of the statements whose written documents are known in advance.
    private mutating func addReturning(to write: inout WriteTwin, _ collection: String) {
        guard write.ids != nil, maker.chance(1, in: 3) else { return }
        write.returning.from = (collection, collection)
        for index in 0...maker.below(2) {
            let dual = maker.value(maker.below(3))
            write.returning.columns.append(DualSelect.Column(path: ["c\(index)"], dual: dual))
            write.sheaf += (index == 0 ? " RETURNING " : ", ") + "\(dual.sheaf) AS c\(index)"
        }
        write.arguments = maker.arguments
    }

    private mutating func begin() -> String {
        maker.arguments = [:]
        let collection = maker.pick(["t", "t", "u"])
        maker.sources = [collection]
        return collection
    }

    // MARK: INSERT

    /// Returns an INSERT of documents with random IDs, some of which may exist.
    mutating func insert(into collection: String, count: Int) -> WriteTwin {
        maker.arguments = [:]
        let (policy, isUpdate) = maker.pick([
            ("DO NOTHING", false), ("DO UPDATE", true), ("DO MERGE", true),
            ("DO UPDATE_LOCAL_DIFF", true),
        ])
        var write = WriteTwin(sheaf: "")
        var texts: [String] = []
        for id in Schema.ids.shuffled(using: &maker.random).prefix(count) {
            let document = Schema.document(&maker.random)
            texts.append("(\(maker.parameter(.object(Schema.object(document, id: id)))))")
            var columns = ["_id"]
            var values = [id]
            for (field, value) in document {
                columns += [field.column, field.presenceColumn]
                values += [value, 1]
            }
            let changes = columns.dropFirst().map { "\($0) = excluded.\($0)" }
            let action =
                isUpdate && !changes.isEmpty
                ? "UPDATE SET " + changes.joined(separator: ", ") : "NOTHING"
            let placeholders = values.map { _ in "?" }.joined(separator: ", ")
            let names = columns.joined(separator: ", ")
            write.sqlite.append(
                (
                    "INSERT INTO \(collection)(\(names)) VALUES(\(placeholders)) "
                        + "ON CONFLICT(_id) DO \(action)", values
                ))
        }
        write.sheaf =
            "INSERT INTO \(collection) DOCUMENTS \(texts.joined(separator: ", ")) "
            + "ON ID CONFLICT \(policy)"
        write.arguments = maker.arguments
        return write
    }

    /// Returns an INSERT of documents from the other collection.
    private mutating func copy(from collection: String) -> WriteTwin {
        let target = collection == "t" ? "u" : "t"
        let condition = maker.condition(1)
        let columns = Schema.fields.flatMap { [$0.column, $0.presenceColumn] }
        let changes = Schema.fields.flatMap { field in
            // A field missing in the copied document keeps its value.
            [field.column, field.presenceColumn].map { column in
                "\(column) = CASE WHEN excluded.\(field.presenceColumn) THEN excluded.\(column) "
                    + "ELSE \(column) END"
            }
        }
        let isUpdate = maker.coin()
        let names = (["_id"] + columns).joined(separator: ", ")
        let action =
            isUpdate ? "UPDATE SET " + changes.joined(separator: ", ") : "NOTHING"
        return WriteTwin(
            sheaf: "INSERT INTO \(target) SELECT * FROM \(collection) WHERE \(condition.sheaf) "
                + "ON ID CONFLICT DO \(isUpdate ? "UPDATE" : "NOTHING")",
            arguments: maker.arguments,
            sqlite: [
                (
                    "INSERT INTO \(target)(\(names)) SELECT \(names) FROM \(collection) "
                        + "WHERE \(condition.value) ON CONFLICT(_id) DO \(action)", []
                )
            ],
            // SQLite cannot determine whether an empty document changes an existing one.
            ids: isUpdate
                ? nil
                : "SELECT _id FROM \(collection) WHERE \(condition.value) "
                    + "AND _id NOT IN (SELECT _id FROM \(target))")
    }

    // MARK: UPDATE

    private mutating func update(_ collection: String) -> WriteTwin {
        var fields = Schema.fields.shuffled(using: &maker.random)
        var texts: [String] = []
        var changes: [String] = []
        var missing: [String] = []
        for _ in 0...maker.below(3) {
            let field = fields.removeLast()
            let dual = value(for: field)
            texts.append("\(field.path.joined(separator: ".")) = \(dual.sheaf)")
            missing.append(dual.missing)
            // A missing value is not assigned.
            let (column, presence) = (field.column, field.presenceColumn)
            changes += [
                "\(column) = (CASE WHEN \(dual.missing) THEN \(column) ELSE \(dual.value) END)",
                "\(presence) = (CASE WHEN \(dual.missing) THEN \(presence) ELSE 1 END)",
            ]
        }
        var sheaf = "UPDATE \(collection) SET " + texts.joined(separator: ", ")
        let hasUnset = maker.chance(1, in: 4)
        if hasUnset {
            let field = fields.removeLast()
            sheaf += " UNSET " + field.path.joined(separator: ".")
            changes += ["\(field.column) = NULL", "\(field.presenceColumn) = NULL"]
        }
        let condition = maker.condition(maker.below(3))
        let isWritten = SQL.not(SQL.and(missing))
        var write = WriteTwin(
            sheaf: sheaf + " WHERE " + condition.sheaf, arguments: maker.arguments,
            sqlite: [
                (
                    "UPDATE \(collection) SET \(changes.joined(separator: ", ")) "
                        + "WHERE \(condition.value)", []
                )
            ],
            // SQLite cannot determine whether UNSET changes a document.
            ids: hasUnset
                ? nil : "SELECT _id FROM \(collection) WHERE \(condition.value) AND \(isWritten)")
        addReturning(to: &write, collection)
        return write
    }

    /// Returns a value that stays within the limits of the field.
    private mutating func value(for field: Field) -> DualExpression {
        for _ in 0..<6 {
            let dual: DualExpression
            switch field.kind {
            case .number: dual = maker.number(maker.below(3))
            case .text: dual = maker.text(maker.below(3))
            case .boolean: dual = maker.condition(maker.below(3))
            case .mixed: dual = maker.coin() ? maker.number(1) : maker.text(1)
            }
            let fits = dual.kind == field.kind || field.kind == .mixed && dual.kind != .boolean
            if fits, dual.limits.isWithin(field.limits) { return dual }
        }
        return maker.chance(1, in: 6) ? maker.literal(.null) : maker.literal(for: field)
    }

    // MARK: DELETE

    private mutating func delete(from collection: String) -> WriteTwin {
        let condition = maker.condition(1 + maker.below(2))
        var sheaf = " FROM \(collection) WHERE \(condition.sheaf)"
        var ids = "SELECT _id FROM \(collection) WHERE \(condition.value)"
        if maker.chance(2, in: 3) {
            let key = maker.field(maker.pick(Schema.fields))
            let isDescending = maker.coin()
            let terms =
                key.orderTerms(isDescending: isDescending)
                + maker.field(Schema.id).orderTerms(isDescending: false)
            let count = maker.below(4)
            sheaf += " ORDER BY \(key.sheaf)\(isDescending ? " DESC" : ""), _id LIMIT \(count)"
            ids += " ORDER BY \(terms.joined(separator: ", ")) LIMIT \(count)"
            if maker.chance(1, in: 4) {
                sheaf += " OFFSET 1"
                ids += " OFFSET 1"
            }
        }
        var write = WriteTwin(
            sheaf: maker.pick(["DELETE", "EVICT"]) + sheaf, arguments: maker.arguments,
            sqlite: [("DELETE FROM \(collection) WHERE _id IN (\(ids))", [])], ids: ids,
            isReturnedBefore: true)
        addReturning(to: &write, collection)
        return write
    }

    // MARK: Indexes

    /// Returns a CREATE INDEX or DROP INDEX statement.
    mutating func index() -> String {
        let collection = maker.pick(["t", "t", "u"])
        let name = "i\(maker.below(4))"
        guard maker.chance(5, in: 6) else { return "DROP INDEX IF EXISTS \(name) ON \(collection)" }
        var paths: [String] = []
        for _ in 0...maker.below(3) {
            let path = maker.pick(Schema.all).path.joined(separator: ".")
            if !paths.contains(where: { $0.hasPrefix(path) }) {
                paths.append(path + (maker.chance(1, in: 3) ? " DESC" : ""))
            }
        }
        return "CREATE INDEX IF NOT EXISTS \(name) ON \(collection) "
            + "(\(paths.joined(separator: ", ")))"
    }
}
