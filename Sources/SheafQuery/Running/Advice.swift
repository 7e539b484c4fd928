package import SheafDocument

/// The result of ADVISE: the suggested indexes and the row that describes them.
package struct Advice {
    package let rows: QueryRows
    package let indexes: [CreateIndex]

    init(_ indexes: [IndexAdvice], existing: [IndexAdvice], isProvisioning: Bool) {
        self.indexes = indexes.map(\.statement)
        let row: Object = [
            "advice": [
                "suggestedIndexes": .array(indexes.map { .object($0.row) }),
                "existingIndexes": .array(existing.map { .object($0.row) }),
                "outcome": .string(
                    Self.outcome(indexes.count, existing.count, isProvisioning: isProvisioning)),
            ]
        ]
        rows = QueryRows(objects: [row], columns: ["advice"])
    }

    private static func outcome(_ suggested: Int, _ used: Int, isProvisioning: Bool) -> String {
        guard suggested == 0 else {
            return "\(suggested) \(suggested == 1 ? "index" : "indexes") "
                + (isProvisioning ? "created" : "suggested")
        }
        guard used > 0 else { return "no index helps this statement" }
        return "the statement has the indexes it needs"
    }
}

/// A suggested or existing index for a statement, with the reason to suggest it.
struct IndexAdvice {
    let name: String
    let collection: String
    let fields: [IndexDescription.Field]
    let reason: String

    /// The statement that creates the index.
    var statement: CreateIndex {
        let nowhere = SourceRange(0, 0)
        return CreateIndex(
            Name(name, at: nowhere), on: Name(collection, at: nowhere),
            fields.map {
                CreateIndex.Field(Path($0.path, at: nowhere), isDescending: $0.isDescending)
            }, allowsExisting: false)
    }

    /// The text of the statement.
    private var text: String {
        Statement(text: "", body: .createIndex(statement), directives: [], parameters: [])
            .description
    }

    fileprivate var row: Object {
        var row: Object = ["collection": .string(collection), "statement": .string(text)]
        if !reason.isEmpty { row["reason"] = .string(reason) }
        return row
    }
}

extension QueryRun {
    /// Returns the advice for the statement after ADVISE.
    package func advice() throws(StoreError) -> Advice {
        guard case .advise(let body, let isProvisioning) = statement.body else {
            throw StoreError(.meaning, "the statement is not an ADVISE statement")
        }
        guard let select = try selection(of: body) else {
            return Advice([], existing: [], isProvisioning: isProvisioning)
        }
        _ = try environment.hints(select.source)
        try environment.checkDirectives(ofJoins: select)
        // A join without an index cannot be planned; the missing index is suggested.
        let plan = try? SelectPlanner(select, environment).plan()
        var adviser = Adviser(environment: environment, existing: plan?.usedIndexes ?? [])
        try adviser.advise(select)
        return Advice(adviser.found, existing: adviser.existing, isProvisioning: isProvisioning)
    }

    /// Returns the SELECT that finds the documents of a statement, or nil if there is none.
    private func selection(of body: Statement.Body) throws(StoreError) -> Select? {
        let mutations = MutationPlanner(environment: environment, newID: options.newID)
        switch body {
        case .select(let select): return select
        case .update(let update): return try mutations.selection(update)
        case .delete(let delete): return try mutations.selection(delete)
        case .insert(let insert): return try mutations.selection(insert)
        case .explain(let inner), .profile(let inner), .advise(let inner, _):
            return try selection(of: inner)
        case .createIndex, .dropIndex, .set, .reset, .show, .showAll: return nil
        }
    }
}

extension SelectPlan {
    /// The indexes that the plan uses, without duplicates.
    fileprivate var usedIndexes: [IndexAdvice] {
        var used: [IndexAdvice] = []
        func add(_ index: IndexDescription, _ source: SourcePlan) {
            let isKnown = used.contains {
                $0.name.isSpelled(index.name) && $0.collection.isSpelled(source.name)
            }
            guard !isKnown else { return }
            used.append(
                IndexAdvice(
                    name: index.name, collection: source.name, fields: index.fields, reason: ""))
        }
        func visit(_ access: Access, of source: SourcePlan) {
            switch access {
            case .index(let scan): add(scan.index, source)
            case .union(let parts), .intersection(let parts):
                for part in parts { visit(part, of: source) }
            case .nothing, .ids, .documents, .virtual, .rows: break
            }
        }
        visit(sources[0].path.access, of: sources[0])
        for join in joins {
            switch join.lookup {
            case .index(let lookup): add(lookup.index, sources[join.source])
            case .hash(let lookup): visit(lookup.access, of: sources[join.source])
            case .id, .scan: break
            }
        }
        return used
    }
}
