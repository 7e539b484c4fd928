package import SheafDocument

/// A parsed statement.
///
/// It is a class because every run passes it around.
package final class Statement: Sendable {
    package let text: String
    package let body: Body
    package let kind: StatementKind
    /// Whether the statement changes documents or indexes, so that it must wait for other writers.
    package let isWriting: Bool
    /// Directives `/*+ {..} */` at the start of the statement and after SELECT, in order.
    package let directives: [Object]
    /// Names of the parameters, without duplicates, in order of appearance.
    package let parameters: [String]
    /// The fast path of the statement; nil if it needs a plan.
    package let fastPath: FastPath?
    /// The point lookup of a SELECT; nil for other statements.
    package let selection: FastPath.Lookup?
    /// The cached plan of the last run.
    let plans = PlanSlot()
    /// Whether undeclared fields are registers; nil if the store's parameter decides.
    package let strictness: Bool?
    /// Positions of placeholders such as `:$1`, in order of appearance.
    let placeholders: [SourceRange]
    /// Positions of names in backticks, in order of appearance.
    let quotedNames: [SourceRange]

    package convenience init(
        text: String, body: Body, directives: [Object], parameters: [String]
    ) {
        self.init(
            text: text, body: body, directives: directives, parameters: parameters,
            placeholders: [], quotedNames: [])
    }

    package init(
        text: String, body: Body, directives: [Object], parameters: [String],
        placeholders: [SourceRange], quotedNames: [SourceRange], strictness: Bool? = nil
    ) {
        self.text = text
        self.body = body
        kind = StatementKind(body)
        isWriting = kind.isWriting
        self.directives = directives
        self.parameters = parameters
        self.placeholders = placeholders
        self.quotedNames = quotedNames
        self.strictness = strictness ?? Directives.strictness(in: directives)
        readsPast =
            if case .select(let select) = body {
                select.source.asOf != nil || select.joins.contains { $0.source.asOf != nil }
            } else {
                false
            }
        fastPath = FastPath(body, directives: directives, in: text)
        selection = fastPath?.selection
        pastLookup = readsPast ? FastPath.pastLookup(body, directives: directives) : nil
    }

    /// The point lookup of a SELECT AS OF a commit or a time; nil for other statements.
    package let pastLookup: PastLookup?
    /// Whether the statement is a SELECT that reads a source AS OF an earlier commit.
    package let readsPast: Bool

    /// Returns the statement with its strictness fixed, unless a directive already sets it.
    ///
    /// A strict statement gets the directive in its text, so that other stores parse it alike.
    package func fixed(isStrict: Bool) throws(StoreError) -> Statement {
        guard strictness == nil else { return self }
        if isStrict { return try Parser.parse(Directives.strict + text) }
        return Statement(
            text: text, body: body, directives: directives, parameters: parameters,
            placeholders: placeholders, quotedNames: quotedNames, strictness: false)
    }

    package indirect enum Body: Sendable {
        case select(Select)
        case insert(Insert)
        case update(Update)
        case delete(Delete)
        case createIndex(CreateIndex)
        case dropIndex(DropIndex)
        case explain(Body)
        case profile(Body)
        case advise(Body, isProvisioning: Bool)
        case set(parameter: String, Expression)
        /// A reset of one parameter, or of all of them if nil.
        case reset(parameter: String?)
        case show(parameter: String)
        case showAll(Pattern.Kind?, pattern: Expression?)
    }
}

/// A name with its position in the statement.
package struct Name: Sendable {
    package let text: String
    package let range: SourceRange

    package init(_ text: String, at range: SourceRange) {
        self.text = text
        self.range = range
    }
}

/// A dot-separated path with its position in the statement.
package struct Path: Sendable {
    package let names: [String]
    package let range: SourceRange

    package init(_ names: [String], at range: SourceRange) {
        self.names = names
        self.range = range
    }
}

/// The declared type of a field, such as `features MAP(trim REGISTER)`.
package struct FieldType: Sendable {
    package enum Kind: Sendable {
        case map([FieldType])
        case register
        case counter
        case olderCounter
        case attachment
    }

    package let name: Name
    package let kind: Kind

    package init(_ name: Name, _ kind: Kind) {
        self.name = name
        self.kind = kind
    }
}

/// USE IDS with a list of expressions, or with one expression that yields a list.
package enum IDSelection: Sendable {
    case list([Expression])
    case expression(Expression)
}

/// The earlier state of a collection that AS OF selects.
package enum AsOf: Sendable {
    /// The state after a commit.
    case commit(Expression)
    /// The state at a time.
    case time(Expression)
}

/// A collection that a statement reads or writes.
package struct Source: Sendable {
    /// The name with its namespace, as in `system:indexes`.
    package let name: Name
    package let hasCollectionKeyword: Bool
    package let types: [FieldType]
    /// The state to read; nil for the newest one.
    package let asOf: AsOf?
    package let alias: Name?
    package let ids: IDSelection?
    /// Names in USE INDEX; an empty name allows a full scan of the inner side of a join.
    package let indexes: [Name]
    package let directives: [Object]

    package init(
        _ name: Name, hasCollectionKeyword: Bool = false, types: [FieldType] = [],
        asOf: AsOf? = nil, alias: Name? = nil, ids: IDSelection? = nil, index: Name? = nil,
        indexes: [Name] = [], directives: [Object] = []
    ) {
        self.name = name
        self.hasCollectionKeyword = hasCollectionKeyword
        self.types = types
        self.asOf = asOf
        self.alias = alias
        self.ids = ids
        self.indexes = indexes + (index.map { [$0] } ?? [])
        self.directives = directives
    }

    /// The first name in USE INDEX.
    package var index: Name? { indexes.first }
}

/// A joined collection with its condition.
package struct JoinClause: Sendable {
    package enum Kind: String, Sendable {
        case inner = "INNER"
        case left = "LEFT"
        case right = "RIGHT"
    }

    package let kind: Kind
    package let source: Source
    package let condition: Expression

    package init(_ kind: Kind, _ source: Source, on condition: Expression) {
        self.kind = kind
        self.source = source
        self.condition = condition
    }
}

/// A column of a result.
package enum ResultColumn: Sendable {
    /// `*`, or `orders.*`.
    case all(qualifier: Name?, at: SourceRange)
    case expression(Expression, alias: Name?)

    var expression: Expression? {
        if case .expression(let expression, _) = self { return expression }
        return nil
    }
}

/// A term of ORDER BY in the syntax tree.
package struct OrderTerm: Sendable {
    package let expression: Expression
    package let isDescending: Bool
    /// The alias or number in the text; nil if the text contains the expression itself.
    let alias: Expression?

    package init(_ expression: Expression, isDescending: Bool) {
        self.init(expression, isDescending: isDescending, alias: nil)
    }

    init(_ column: Expression, isDescending: Bool, alias: Expression?) {
        expression = column
        self.isDescending = isDescending
        self.alias = alias
    }

    /// Whether the term refers to a column of the statement.
    var isColumn: Bool { alias != nil }
}

/// ORDER BY, LIMIT and OFFSET.
package struct Ordering: Sendable {
    package let terms: [OrderTerm]
    package let limit: Expression?
    package let offset: Expression?

    package init(terms: [OrderTerm] = [], limit: Expression? = nil, offset: Expression? = nil) {
        self.terms = terms
        self.limit = limit
        self.offset = offset
    }
}

/// A SELECT, without its directives.
package struct Select: Sendable {
    package var isDistinct = false
    package var columns: [ResultColumn]
    package var source: Source
    package var joins: [JoinClause] = []
    package var condition: Expression?
    package var groups: [Expression] = []
    package var having: Expression?
    package var ordering = Ordering()

    package init(columns: [ResultColumn], source: Source) {
        self.columns = columns
        self.source = source
    }
}

/// An INSERT of listed documents or of the rows of a SELECT.
package struct Insert: Sendable {
    package enum Conflict: Sendable {
        case fail
        case doNothing
        case merge
        case mergeDifferences
    }

    package enum Documents: Sendable {
        case expressions([Expression])
        case select(Select)
    }

    package let source: Source
    package let documents: Documents
    package let isInitial: Bool
    package let conflict: Conflict
    package let returning: [ResultColumn]

    package init(
        into source: Source, _ documents: Documents, isInitial: Bool, onConflict: Conflict,
        returning: [ResultColumn]
    ) {
        self.source = source
        self.documents = documents
        self.isInitial = isInitial
        conflict = onConflict
        self.returning = returning
    }
}

/// An assignment of UPDATE; legacy mutators are translated into these cases.
package enum Assignment: Sendable {
    case set(Path, Expression)
    case unset(Path)
    case increment(Path, by: Expression)
    /// A restart of a counter with a number, or with zero if nil.
    case restart(Path, with: Expression?)
    case incrementOlder(Path, by: Expression)
}

/// An UPDATE of the documents that satisfy a condition.
package struct Update: Sendable {
    package let source: Source
    /// Assignments in the order of the text.
    package let assignments: [Assignment]
    package let condition: Expression?
    package let returning: [ResultColumn]

    package init(
        _ source: Source, _ assignments: [Assignment], condition: Expression?,
        returning: [ResultColumn]
    ) {
        self.source = source
        self.assignments = assignments
        self.condition = condition
        self.returning = returning
    }
}

/// DELETE or EVICT.
package struct Delete: Sendable {
    package let source: Source
    package let isEviction: Bool
    package let condition: Expression?
    package let ordering: Ordering
    package let returning: [ResultColumn]

    package init(
        from source: Source, isEviction: Bool, condition: Expression?, ordering: Ordering,
        returning: [ResultColumn]
    ) {
        self.source = source
        self.isEviction = isEviction
        self.condition = condition
        self.ordering = ordering
        self.returning = returning
    }
}

/// CREATE INDEX.
package struct CreateIndex: Sendable {
    package struct Field: Sendable {
        package let path: Path
        package let isDescending: Bool

        package init(_ path: Path, isDescending: Bool) {
            self.path = path
            self.isDescending = isDescending
        }
    }

    package let name: Name
    package let collection: Name
    package let fields: [Field]
    package let allowsExisting: Bool

    package init(_ name: Name, on collection: Name, _ fields: [Field], allowsExisting: Bool) {
        self.name = name
        self.collection = collection
        self.fields = fields
        self.allowsExisting = allowsExisting
    }
}

/// DROP INDEX.
package struct DropIndex: Sendable {
    package let name: Name
    package let collection: Name
    package let allowsMissing: Bool

    package init(_ name: Name, on collection: Name, allowsMissing: Bool) {
        self.name = name
        self.collection = collection
        self.allowsMissing = allowsMissing
    }
}
