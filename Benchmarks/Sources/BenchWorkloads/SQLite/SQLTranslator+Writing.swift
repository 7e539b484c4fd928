import SheafDocument
import SheafQuery

/// INSERT, UPDATE and DELETE.
extension SQLTranslator {
    mutating func insert(_ insert: Insert) throws(Untranslatable) -> String {
        let table = try table(insert.source)
        guard !insert.isInitial else { throw Untranslatable("INITIAL has no counterpart") }
        guard case .expressions(let expressions) = insert.documents else {
            throw Untranslatable("INSERT with SELECT has no counterpart")
        }
        var rows: [String] = []
        for expression in expressions { rows.append(try document(expression)) }
        let text = "INSERT INTO \(table)(_id, doc) VALUES \(rows.joined(separator: ", "))"
        let conflict =
            switch insert.conflict {
            case .fail: ""
            case .doNothing: " ON CONFLICT(_id) DO NOTHING"
            case .merge, .mergeDifferences:
                " ON CONFLICT(_id) DO UPDATE SET doc = json_patch(doc, excluded.doc)"
            }
        return text + conflict + (try returning(insert.returning))
    }

    private func returning(_ columns: [ResultColumn]) throws(Untranslatable) -> String {
        columns.isEmpty ? "" : " RETURNING \(try list(columns: columns))"
    }

    /// Returns the row of a document: its ID, and the rest as JSON.
    private mutating func document(_ expression: Expression) throws(Untranslatable) -> String {
        let new = "lower(hex(randomblob(16)))"
        switch expression.node {
        case .parameter(let name):
            guard kinds[name] == .object else { throw Untranslatable(":\(name) is no object") }
            documents.insert(name)
            return "(coalesce(:\(name)__id, \(new)), :\(name)__doc)"
        case .object(let fields):
            let id = fields.first { $0.name == "_id" }
            let rest = fields.filter { $0.name != "_id" }
            let text = try object(rest)
            guard let id else { return "(\(new), \(text))" }
            return "(\(try self.expression(id.value)), \(text))"
        case .literal(.object(let object)):
            var rest = object
            rest["_id"] = nil
            let id = object["_id"].map(Self.literal) ?? new
            return "(\(id), \(Self.literal(Value.object(rest).json)))"
        default: throw Untranslatable("the inserted document is computed")
        }
    }

    private func object(_ fields: [ObjectField]) throws(Untranslatable) -> String {
        var parts: [String] = []
        for field in fields {
            parts += [Self.literal(field.name), try stored(field.value)]
        }
        return "json_object(\(parts.joined(separator: ", ")))"
    }

    /// Returns an expression in the form in which the JSON functions store it.
    private func stored(_ expression: Expression) throws(Untranslatable) -> String {
        switch expression.node {
        case .literal(.bool(let flag)): return "json('\(flag)')"
        case .literal(.array(let elements)):
            return "json(\(Self.literal(Value.array(elements).json)))"
        case .literal(.object(let object)):
            return "json(\(Self.literal(Value.object(object).json)))"
        case .object(let fields): return try object(fields)
        case .array(let elements):
            var parts: [String] = []
            for element in elements { parts.append(try stored(element)) }
            return "json_array(\(parts.joined(separator: ", ")))"
        case .parameter(let name):
            switch kinds[name] ?? .scalar {
            case .scalar: return ":\(name)"
            case .boolean: return "json(CASE WHEN :\(name) THEN 'true' ELSE 'false' END)"
            case .array, .object: return "json(:\(name))"
            case .mixed: throw Untranslatable(":\(name) has values of several types")
            }
        default: return try self.expression(expression)
        }
    }

    mutating func update(_ update: Update) throws(Untranslatable) -> String {
        let table = try table(update.source)
        var doc = "doc"
        for assignment in update.assignments {
            switch assignment {
            case .set(let path, let value):
                let path = try self.path(path)
                doc = "json_set(\(doc), \(path), \(try stored(value)))"
            case .unset(let path): doc = "json_remove(\(doc), \(try self.path(path)))"
            case .increment(let path, let step), .incrementOlder(let path, let step):
                let path = try self.path(path)
                doc =
                    "json_set(\(doc), \(path), "
                    + "coalesce(json_extract(doc, \(path)), 0) + \(try expression(step)))"
            case .restart(let path, let value):
                var number = "0"
                if let value { number = try expression(value) }
                doc = "json_set(\(doc), \(try self.path(path)), \(number))"
            }
        }
        var conditions: [String] = []
        if let ids = try identifiers(update.source) { conditions.append(ids) }
        if let condition = update.condition { conditions.append(try expression(condition)) }
        return "UPDATE \(table) SET doc = \(doc)" + Self.conjunction(conditions)
            + (try returning(update.returning))
    }

    private func path(_ path: Path) throws(Untranslatable) -> String {
        var names = path.names
        if names.count > 1, aliases[names[0]] != nil { names.removeFirst() }
        return Self.jsonPath(names)
    }

    mutating func delete(_ delete: Delete) throws(Untranslatable) -> String {
        let table = try table(delete.source)
        guard delete.ordering.limit == nil, delete.ordering.offset == nil else {
            throw Untranslatable("DELETE with LIMIT has no counterpart")
        }
        var conditions: [String] = []
        if let ids = try identifiers(delete.source) { conditions.append(ids) }
        if let condition = delete.condition { conditions.append(try expression(condition)) }
        return "DELETE FROM \(table)" + Self.conjunction(conditions)
            + (try returning(delete.returning))
    }
}
