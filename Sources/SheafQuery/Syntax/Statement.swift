package import SheafDocument

/// A statement as it was written.
///
/// It is an object, as each run hands it around.
package final class Statement: Sendable {
    package let text: String
    package let body: Body
    /// What `/*+ {..} */` says at the start of the statement or behind SELECT, one after the other.
    package let directives: [Object]
    /// The names of all parameters, each once, in the order of their appearance.
    package let parameters: [String]
    /// How it is run without a plan; none where it takes one.
    package let shortcut: Shortcut?
    /// The same where it is a SELECT.
    package let selection: Shortcut.Lookup?
    /// The plan of its last run.
    let plans = PlanSlot()
    /// Whether undeclared fields are registers; nil where the store's parameter decides.
    package let strictness: Bool?
    /// Where `:$1` and the like stand, in the order of the text.
    let placeholders: [SourceRange]
    /// Where names in backticks stand, in the order of the text.
    let quotedNames: [SourceRange]

    package convenience init(
        text: String, body: Body, directives: [Object], parameters: [String]
    ) {
        self.init(
            text: text, body: body, directives: directives, parameters: parameters,
            placeholders: [], quotedNames: [])
    }

    init(
        text: String, body: Body, directives: [Object], parameters: [String],
        placeholders: [SourceRange], quotedNames: [SourceRange], strictness: Bool? = nil
    ) {
        self.text = text
        self.body = body
        self.directives = directives
        self.parameters = parameters
        self.placeholders = placeholders
        self.quotedNames = quotedNames
        self.strictness = strictness ?? Directives.strictness(in: directives)
        shortcut = Shortcut(body, directives: directives, in: text)
        selection = shortcut?.selection
    }

    /// Returns the statement with a strictness that no parameter changes, unless it has one.
    ///
    /// The text of a strict one begins with the directive, so that other stores read it the same way.
    package func fixed(isStrict: Bool) throws(QueryError) -> Statement {
        guard strictness == nil else { return self }
        if isStrict { return try Parser.parse(Directives.strict + text) }
        return Statement(
            text: text, body: body, directives: directives, parameters: parameters,
            placeholders: placeholders, quotedNames: quotedNames, strictness: false)
    }

    /// Whether it is about so few documents, known beforehand, that it takes no time worth a word.
    package var isBrief: Bool {
        switch shortcut {
        case .lookup: true
        case .insertion(let insertion): insertion.documents.count <= 16
        case nil: false
        }
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
        /// Of one parameter, or of all.
        case reset(parameter: String?)
        case show(parameter: String)
        case showAll(Pattern.Kind?, pattern: Expression?)
    }
}

/// A name, and where it stands.
package struct Name: Sendable {
    package let text: String
    package let range: SourceRange

    package init(_ text: String, at range: SourceRange) {
        self.text = text
        self.range = range
    }
}

/// A path of names with dots between them, and where it stands.
package struct Path: Sendable {
    package let names: [String]
    package let range: SourceRange

    package init(_ names: [String], at range: SourceRange) {
        self.names = names
        self.range = range
    }
}

/// `features MAP(trim REGISTER)`.
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

/// USE IDS: a list, or an expression that is one.
package enum IDSelection: Sendable {
    case list([Expression])
    case expression(Expression)
}

/// A collection that a statement reads or writes.
package struct Source: Sendable {
    /// With its namespace, if there is one: `system:indexes`.
    package let name: Name
    package let hasCollectionKeyword: Bool
    package let types: [FieldType]
    package let alias: Name?
    package let ids: IDSelection?
    /// USE INDEX; an empty name allows a scan of the inner side of a join.
    package let indexes: [Name]
    package let directives: [Object]

    package init(
        _ name: Name, hasCollectionKeyword: Bool = false, types: [FieldType] = [],
        alias: Name? = nil, ids: IDSelection? = nil, index: Name? = nil,
        indexes: [Name] = [], directives: [Object] = []
    ) {
        self.name = name
        self.hasCollectionKeyword = hasCollectionKeyword
        self.types = types
        self.alias = alias
        self.ids = ids
        self.indexes = indexes + (index.map { [$0] } ?? [])
        self.directives = directives
    }

    /// The first name behind USE INDEX.
    package var index: Name? { indexes.first }
}

package struct Join: Sendable {
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

package struct OrderTerm: Sendable {
    package let expression: Expression
    package let isDescending: Bool
    /// The alias or number in the text; nil where the expression itself is written there.
    let alias: Expression?

    package init(_ expression: Expression, isDescending: Bool) {
        self.init(expression, isDescending: isDescending, alias: nil)
    }

    init(_ column: Expression, isDescending: Bool, alias: Expression?) {
        expression = column
        self.isDescending = isDescending
        self.alias = alias
    }

    /// Whether the expression is a column of the statement.
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

package struct Select: Sendable {
    package var isDistinct = false
    package var columns: [ResultColumn]
    package var source: Source
    package var joins: [Join] = []
    package var condition: Expression?
    package var groups: [Expression] = []
    package var having: Expression?
    package var ordering = Ordering()

    package init(columns: [ResultColumn], source: Source) {
        self.columns = columns
        self.source = source
    }
}

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

/// What UPDATE does to a field; the older mutators are translated into these.
package enum Assignment: Sendable {
    case set(Path, Expression)
    case unset(Path)
    case increment(Path, by: Expression)
    /// Without a number, with zero.
    case restart(Path, with: Expression?)
    case incrementOlder(Path, by: Expression)
}

package struct Update: Sendable {
    package let source: Source
    /// In the order in which they are written.
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
