import SheafDocument

/// What ADVISE suggests.
package struct Advice {
    package let rows: QueryRows
    package let indexes: [CreateIndex]

    init(_ indexes: [IndexAdvice]) {
        self.indexes = indexes.map(\.statement)
        rows = QueryRows(
            objects: indexes.map(\.row), columns: ["advice", "collection", "fields", "reason"])
    }
}

/// An index that a statement would use, and what for.
struct IndexAdvice {
    let name: String
    let collection: String
    let fields: [IndexDescription.Field]
    let reason: String

    /// The statement that makes it.
    var statement: CreateIndex {
        let nowhere = SourceRange(0, 0)
        return CreateIndex(
            Name(name, at: nowhere), on: Name(collection, at: nowhere),
            fields.map {
                CreateIndex.Field(Path($0.path, at: nowhere), isDescending: $0.isDescending)
            }, allowsExisting: false)
    }

    fileprivate var row: Object {
        let text = Statement(
            text: "", body: .createIndex(statement), directives: [], parameters: []
        ).description
        return [
            "advice": .string(text), "collection": .string(collection),
            "fields": .array(
                fields.map { field in
                    var printer = Printer()
                    printer.write(path: field.path)
                    return .string(printer.text + (field.isDescending ? " DESC" : ""))
                }), "reason": .string(reason),
        ]
    }
}

extension QueryRun {
    /// What ADVISE says of a statement.
    package func advice() throws(QueryError) -> Advice {
        guard case .advise(let body, _) = statement.body else {
            throw QueryError(.meaning, "the statement asks for no advice")
        }
        let mutations = MutationPlanner(environment: environment, newID: options.newID)
        var adviser = Adviser(environment: environment)
        switch body {
        case .select(let select): try adviser.advise(select)
        case .update(let update): try adviser.advise(try mutations.selection(update))
        case .delete(let delete): try adviser.advise(try mutations.selection(delete))
        case .insert(let insert):
            if case .select(let select) = insert.documents { try adviser.advise(select) }
        default: break
        }
        return Advice(adviser.found)
    }
}
