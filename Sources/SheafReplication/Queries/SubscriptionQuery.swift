import SheafBytes
package import SheafDocument
package import SheafQuery
package import SheafStatements
package import SheafSync

/// A validated query of a subscription, with its arguments.
package struct SubscriptionQuery: Sendable {
    /// The statement; nil in a query of all documents of all collections.
    let statement: Statement?
    let arguments: ArgumentValues
    /// The collection; nil in a query of all collections.
    package let collection: String?
    /// Maximum number of documents selected; nil without LIMIT.
    let limit: Int?
    /// Whether all documents of the collection, or of all collections, match.
    let matchesAll: Bool
    /// Whether `_id` alone decides whether a document matches.
    let isDecidedByID: Bool
    /// The query as sent to other peers.
    package let wire: SubscribedQuery
    /// The query before the time of `clock()` was fixed; nil if it does not read it.
    private let window: Window?

    private struct Window: Sendable {
        let statement: Statement
        let isRestricted: Bool
        let isStrict: Bool
        /// The query as it was requested, and its arguments.
        let requested: SubscribedQuery
        /// The bounds that depend on the time, if all of them are lower bounds; nil otherwise.
        let lowerBounds: [Value]?
    }

    /// Whether the query depends on the current time, so that it must be renewed.
    package var isWindow: Bool { window != nil }

    /// The query as it was requested, before the time of `clock()` was fixed.
    var requestedWire: SubscribedQuery { window?.requested ?? wire }

    /// The text of the query, as it was registered.
    package var text: String { (window?.statement ?? statement)?.text ?? wire.text }

    /// Whether the query selects all documents of all collections, also of later ones.
    package var selectsAllCollections: Bool { statement == nil }

    /// Whether the query selects from a collection.
    package func selects(for other: String) -> Bool {
        collection.map { UTF8Order.compare($0, other) == 0 } ?? !other.isReservedCollection
    }

    /// Creates a query from a statement; throws an error that names the unsupported part, if any.
    ///
    /// The strictness becomes part of the sent text, so that both peers select the same documents
    /// regardless of their `dql_strict_mode`. With `isRestricted`, ORDER BY and LIMIT are rejected
    /// (`dql_restrict_subscriptions`). `clock()` becomes `time`, in milliseconds since 1970;
    /// without a time it is refused.
    package init(
        _ original: Statement, _ arguments: ArgumentValues, _ queries: QueryEngine,
        isRestricted: Bool = false, isStrict: Bool = false, at time: UInt64? = nil
    ) throws(StoreError) {
        let strict = try original.fixed(isStrict: isStrict)
        let fixed = if let time { try strict.fixed(clockAt: time) } else { nil as Statement? }
        let statement = fixed ?? strict
        guard case .select(let select) = statement.body else {
            throw Self.refusal("a subscription must be a SELECT statement", statement)
        }
        if let part = Self.excess(of: select, isRestricted: isRestricted) {
            throw Self.refusal(
                "a subscription must be SELECT * FROM a collection with an optional WHERE; \(part)",
                statement)
        }
        self.statement = statement
        self.arguments = arguments
        let collection = select.source.name.text
        self.collection = collection
        switch try queries.makeRun(statement, arguments).observedChanges() {
        case .select(let watched, _):
            limit = watched.limit
            matchesAll = select.condition == nil && watched.limit == nil
            isDecidedByID =
                watched.limit == nil && Self.reads(select.condition, onlyField: "_id")
        case .system:
            throw Self.refusal(
                "\(collection) is a system collection, which is not replicated", statement)
        case .collections:
            throw Self.refusal(
                "a condition of another peer, or of a right, cannot depend on the current time; "
                    + "pass a time as an argument", statement)
        }
        wire = try Self.wire(statement, arguments)
        if fixed == nil {
            window = nil
        } else {
            window = Window(
                statement: original, isRestricted: isRestricted, isStrict: isStrict,
                requested: try Self.wire(strict, arguments),
                lowerBounds: try queries.makeRun(statement, arguments).lowerBounds(
                    dependingOnClockIn: strict))
        }
        var tally = SubscriptionTally()
        try tally.add(self)
    }

    /// Creates the query of all collections with its wire form.
    init(ofAllCollections wire: SubscribedQuery) {
        self.wire = wire
        (statement, collection, limit, window) = (nil, nil, nil, nil)
        (matchesAll, isDecidedByID) = (true, false)
        arguments = ArgumentValues()
    }

    /// Returns the query with another time in place of `clock()`, if it reads the clock.
    package func renewed(
        at time: UInt64, _ queries: QueryEngine
    ) throws(StoreError) -> SubscriptionQuery {
        guard let window else { return self }
        return try SubscriptionQuery(
            window.statement, arguments, queries, isRestricted: window.isRestricted,
            isStrict: window.isStrict, at: time)
    }

    /// Whether the documents of each query match one of `others`, as far as the texts show.
    static func areCovered(
        _ queries: [SubscriptionQuery], by others: [SubscriptionQuery]
    ) -> Bool {
        let known = Set(others.map(\.wire))
        if known.contains(SubscriptionQuery.allCollections.wire) { return true }
        var bounds: [SubscribedQuery: [Value]] = [:]
        for other in others {
            if let window = other.window { bounds[window.requested] = window.lowerBounds }
        }
        return queries.allSatisfy { query in
            if known.contains(query.wire) { return true }
            guard let window = query.window, query.limit == nil, let new = window.lowerBounds,
                let old = bounds[window.requested], new.count == old.count
            else { return false }
            return zip(old, new).allSatisfy { $0.kind == $1.kind && $0 <= $1 }
        }
    }

    /// Decodes a query that another peer subscribes to.
    ///
    /// `isRestricted` is the local value of `dql_restrict_subscriptions`.
    package init(
        _ query: SubscribedQuery, _ queries: QueryEngine, isRestricted: Bool
    ) throws(StoreError) {
        guard !query.selectsAllCollections else {
            guard query.arguments.isEmpty else {
                throw StoreError(.argument, "a subscription to all collections has no arguments")
            }
            self = .allCollections
            return
        }
        let statement = try queries.statement(DQL(verbatim: query.text))
        let arguments: Object
        do throws(Malformed) {
            arguments = try query.arguments.span.withUnsafeBytes { (bytes) throws(Malformed) in
                let document = try EncodedDocument(bytes)
                try document.validate(NameTable())
                return try document.value(NameTable()) ?? Object()
            }
        } catch {
            throw StoreError(.argument, "the arguments of a subscription cannot be read: \(error)")
        }
        try self.init(
            statement, ArgumentValues(arguments), queries, isRestricted: isRestricted)
    }

    /// Whether a condition reads no field except `name`.
    private static func reads(_ condition: Expression?, onlyField name: String) -> Bool {
        var isOnly = true
        try? condition?.forEachPath { (path, _) throws(StoreError) in
            if path.count != 1 || UTF8Order.compare(path[0], name) != 0 { isOnly = false }
        }
        return isOnly
    }

    private static func wire(
        _ statement: Statement, _ arguments: ArgumentValues
    ) throws(StoreError) -> SubscribedQuery {
        do throws(DocumentError) {
            var object = Object()
            for field in arguments.fields { object[field.name] = field.value }
            return SubscribedQuery(
                text: statement.text, arguments: try Insertion.initial(object, NameTable()))
        } catch {
            throw StoreError(
                .argument, "the arguments of a subscription cannot be sent: \(error)")
        }
    }

    /// Describes the first part of a SELECT that a subscription cannot contain.
    private static func excess(of select: Select, isRestricted: Bool) -> String? {
        if select.isDistinct { return "DISTINCT is not allowed" }
        guard select.columns.count == 1, case .all(nil, _) = select.columns[0] else {
            return "it selects complete documents, so the select list must be *"
        }
        if !select.joins.isEmpty { return "JOIN is not allowed" }
        if select.source.ids != nil { return "USE IDS is not allowed; use _id IN (..) in WHERE" }
        if !select.groups.isEmpty { return "GROUP BY is not allowed" }
        if select.having != nil { return "HAVING is not allowed" }
        let hint = "is not allowed unless dql_restrict_subscriptions is false"
        if isRestricted, !select.ordering.terms.isEmpty { return "ORDER BY \(hint)" }
        if isRestricted, select.ordering.limit != nil { return "LIMIT \(hint)" }
        if select.ordering.offset != nil { return "OFFSET is not allowed" }
        return nil
    }

    private static func refusal(_ message: String, _ statement: Statement) -> StoreError {
        StoreError(
            .meaning, message, at: SourceRange(0, statement.text.utf8.count), in: statement.text)
    }
}
