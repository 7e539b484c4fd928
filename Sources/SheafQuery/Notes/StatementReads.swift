import SheafDocument

/// The sources and expressions by which a statement finds rows, or the documents that it changes.
struct StatementReads {
    private(set) var sources: [Source] = []
    /// WHERE, HAVING and the conditions of joins.
    private(set) var conditions: [Expression] = []
    /// Other expressions: columns, groups, order and assigned values.
    private(set) var others: [Expression] = []
    /// Names of columns, which ORDER BY may use.
    private(set) var aliases: [String] = []

    /// Collects what a statement reads; nil if it selects no documents.
    init?(_ body: Statement.Body) {
        switch body {
        case .select(let select): add(select)
        case .insert(let insert):
            // With another conflict rule, rows may have been found and skipped.
            guard case .select(let select) = insert.documents, case .fail = insert.conflict else {
                return nil
            }
            add(select)
        case .update(let update):
            sources = [update.source]
            conditions = update.condition.map { [$0] } ?? []
            others = update.assignments.compactMap(\.value)
        case .delete(let delete):
            sources = [delete.source]
            conditions = delete.condition.map { [$0] } ?? []
            others = delete.ordering.terms.map(\.expression)
        case .createIndex, .dropIndex, .explain, .profile, .advise, .set, .reset, .show, .showAll:
            return nil
        }
    }

    private mutating func add(_ select: Select) {
        sources = [select.source] + select.joins.map(\.source)
        conditions = select.joins.map(\.condition) + [select.condition, select.having].compacted()
        for case .expression(let expression, let alias) in select.columns {
            others.append(expression)
            if let alias { aliases.append(alias.text) }
        }
        others += select.groups + select.ordering.terms.map(\.expression)
    }
}

extension Assignment {
    /// The assigned value; nil if there is none.
    fileprivate var value: Expression? {
        switch self {
        case .set(_, let value), .increment(_, let value), .incrementOlder(_, let value): value
        case .restart(_, let value): value
        case .unset: nil
        }
    }
}

extension [Expression?] {
    fileprivate func compacted() -> [Expression] { compactMap { $0 } }
}
