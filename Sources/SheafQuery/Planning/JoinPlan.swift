import SheafDocument

/// The method of finding the rows of a joined source.
final class JoinPlan {
    enum Lookup {
        /// A lookup of the id that an expression over the preceding rows yields.
        case id(Evaluator, Expression)
        case index(IndexLookup)
        case hash(HashLookup)
        /// A scan of all documents for each preceding row.
        case scan
    }

    /// The matches that a preceding row needs.
    enum Matches: String {
        case all
        /// One match is enough, because further ones would repeat its row of the result.
        case first
        /// The number of matches is enough, because only COUNT(*) depends on them. They are entries
        /// of a covering index.
        case counted
        /// A match removes the row, because the condition requires that there is none.
        case none
    }

    let kind: JoinClause.Kind
    let source: Int
    let lookup: Lookup
    let matches: Matches
    let condition: Predicate
    /// The rest of the condition for rows whose compared values are equal.
    let residualPredicate: Predicate?
    let expression: Expression
    /// The field of the first source whose value is the id, if it is one.
    let idField: FieldPath?

    /// Whether the rows of the result keep the order of the first source.
    var keepsOrder: Bool {
        switch lookup {
        case .id, .index: true
        case .hash, .scan: false
        }
    }

    init(
        kind: JoinClause.Kind, source: Int, lookup: Lookup, matches: Matches,
        condition: @escaping Predicate, rest: Predicate?, expression: Expression,
        idField: FieldPath?
    ) {
        self.idField = idField
        self.kind = kind
        self.source = source
        self.lookup = lookup
        self.matches = matches
        self.condition = condition
        self.residualPredicate = rest
        self.expression = expression
    }
}

/// A scan of the index entries whose first fields have the values of expressions.
struct IndexLookup {
    let index: IndexDescription
    /// The values of the first fields, over the preceding rows.
    let values: [Evaluator]
    /// The same values, which EXPLAIN prints.
    let expressions: [Expression]
    /// Whether all visited documents have the same keys, unlike pending ones and those with
    /// truncated values.
    let isExact: Bool
    /// Whether the entries contain all fields of the source that the statement reads.
    let isCovering: Bool
}

/// A lookup in a hash table of the rows of a source.
struct HashLookup {
    /// The compared values of the source.
    let inner: [Evaluator]
    /// The values over the preceding rows that they must equal.
    let outer: [Evaluator]
    /// The terms that compare them.
    let expressions: [Expression]
    /// The path to the rows of the table, which may include others.
    let access: Access
    /// The number of documents that the path visits.
    let count: Int
    let filter: FieldFilter?
    let filterExpression: Expression?
}

/// A term of the condition of a join, or of WHERE, that compares its source with preceding rows.
struct JoinEquality {
    /// The number of the term in the condition of the join; nil for one of WHERE.
    let term: Int?
    let expression: Expression
    /// The expression over the source, and its path if it is a visible field or the id.
    let inner: Expression
    let path: [String]?
    /// The expression over the preceding rows.
    let outer: Expression
    /// Whether `outer` is the same for all rows.
    let isConstant: Bool
}
