import SheafBytes
public import SheafDocument
import SheafEngine
import SheafQuery
public import SheafStatements
import SheafStorage
import Synchronization

/// The documents of a collection as instances of a Swift type.
///
///     let cars = store.collection("cars", of: Car.self)
///     try await cars.insert(car)
///     let blue = try await cars.fetchAll(where: "color = \(color) ORDER BY mileage LIMIT 20")
///
/// Reads need a `Decodable` type and writes an `Encodable` one. The field `_id` is the id of a
/// document. Values become arguments of statements, and never part of their text. A collection of
/// `Value` reads and writes documents of any shape.
///
/// Calls of a store's collection are transactions of their own; those of `within` and of
/// `StoreTransaction.collection` are part of a transaction.
public struct DocumentCollection<Document>: Sendable {
    // One reference, so that calls do not count several.
    private let access: CollectionAccess

    init(_ scope: TypedScope, _ name: String, _ coding: ValueCoding) {
        access = CollectionAccess(scope, name, coding)
    }

    /// The name of the collection.
    public var name: String { access.name }
    /// The form of dates, decimals and durations in its documents.
    public var coding: ValueCoding { access.coding }
    var scope: TypedScope { access.scope }

    /// Returns the same collection with calls that are part of a transaction.
    ///
    ///     try await store.transaction { transaction in
    ///         try await accounts.within(transaction).update(id) { $0.balance -= payment.sum }
    ///         try await payments.within(transaction).insert(payment)
    ///     }
    public func within(_ transaction: StoreTransaction) -> DocumentCollection {
        DocumentCollection(
            transaction.store === access.store ? .transaction(transaction) : .foreign(transaction),
            name, coding)
    }
}

/// The store and the settings of a collection, for calls with any type of document.
final class CollectionAccess: Sendable {
    let name: String
    let coding: ValueCoding
    let scope: TypedScope
    let store: Store
    private let queries: QueryEngine
    private let guess = NameGuess()
    /// The statement that reads a document by its id; nil in a transaction, and if the name is no
    /// valid collection.
    let lookup: Statement?

    init(_ scope: TypedScope, _ name: String, _ coding: ValueCoding) {
        self.scope = scope
        self.name = name
        self.coding = coding
        store = scope.store
        queries = store.queries
        guard case .store(let store) = scope else {
            lookup = nil
            return
        }
        lookup = try? store.queries.statement("SELECT * FROM \(identifier: name) WHERE _id = :id")
    }

    /// Returns a document in a transaction of its own; sets `isKnown` to false if it takes a
    /// statement to read it.
    func document<Document: Decodable>(
        _ id: Value, as type: Document.Type, isKnown: inout Bool
    ) throws -> Document? {
        guard !store.isClosed.load(ordering: .acquiring) else { throw StoreError.closed }
        guard let lookup else {
            isKnown = false
            return nil
        }
        let snapshot = queries.snapshot()
        switch queries.find(lookup, id, in: snapshot) {
        case .none: return nil
        case .unknown:
            isKnown = false
            return nil
        case .document(let fields, let key, let position):
            // The bytes of the document are valid as long as the snapshot.
            defer { withExtendedLifetime(snapshot) {} }
            do {
                return try DocumentDecoder(snapshot.names, coding: coding, guess: guess)
                    .decode(type, from: fields, id: key)
            } catch let error as DecodingError {
                throw error.located(in: "the document \(id.json.shortened) of \(name.shortened)")
            } catch let error as Malformed {
                throw StoreError(error, document: position).located(in: snapshot.log.segments)
            }
        }
    }
}

extension Store {
    /// Returns a collection whose documents are instances of a type.
    ///
    /// The collection exists once it has a document. `coding` is the form of dates, decimals and
    /// durations in its documents, and in the conditions of its calls.
    public func collection<Document>(
        _ name: String, of type: Document.Type, coding: ValueCoding = ValueCoding()
    ) -> DocumentCollection<Document> {
        DocumentCollection(.store(self), name, coding)
    }
}

extension StoreTransaction {
    /// Returns a collection whose calls are part of the transaction.
    public func collection<Document>(
        _ name: String, of type: Document.Type, coding: ValueCoding = ValueCoding()
    ) -> DocumentCollection<Document> {
        DocumentCollection(.transaction(self), name, coding)
    }
}

// MARK: Reading

extension DocumentCollection where Document: Decodable {
    /// Returns the document with an id; nil if there is none.
    ///
    /// It neither parses nor plans a statement, and is not in `system:request_history`.
    public nonisolated(nonsending) func get(_ id: String) async throws -> Document? {
        try await get(id: .string(id))
    }

    /// Returns the document with an id of any type; nil if there is none.
    public nonisolated(nonsending) func get(_ id: some Encodable) async throws -> Document? {
        try await get(id: ValueEncoder(coding: coding).encode(id))
    }

    private nonisolated(nonsending) func get(id: Value) async throws -> Document? {
        var isKnown = true
        let found = try access.document(id, as: Document.self, isKnown: &isKnown)
        return isKnown ? found : try await first(of: selection("_id = \(id)"))
    }

    /// Returns the documents that satisfy a condition, or all of them.
    ///
    /// The condition is the rest of `SELECT * FROM cars WHERE …`, with order and limit. For these
    /// alone, the condition is `TRUE`, as in `TRUE ORDER BY mileage LIMIT 20 OFFSET 40`.
    public nonisolated(nonsending) func fetchAll(
        where condition: DQL? = nil
    ) async throws -> [Document] {
        try decode(try await scope.execute(selection(condition)))
    }

    /// Returns the first document that satisfies a condition; nil if there is none.
    public nonisolated(nonsending) func fetchOne(where condition: DQL) async throws -> Document? {
        // A condition with a limit of its own accepts no other one.
        let limited: DQL = "\(part: selection(condition)) LIMIT 1"
        let isLimitable = (try? scope.store.queries.statement(limited)) != nil
        return try await first(of: isLimitable ? limited : selection(condition))
    }

    private nonisolated(nonsending) func first(of query: DQL) async throws -> Document? {
        let result = try await scope.execute(query)
        return result.items.isEmpty ? nil : try decode(result, 0)
    }

    func selection(_ condition: DQL?) -> DQL {
        guard let condition else { return "SELECT * FROM \(identifier: name)" }
        return "SELECT * FROM \(identifier: name) WHERE \(part: condition.coded(coding))"
    }

    func decode(_ result: QueryResult) throws -> [Document] {
        var documents: [Document] = []
        documents.reserveCapacity(result.storage.count)
        for index in 0..<result.storage.count { documents.append(try decode(result, index)) }
        return documents
    }

    func decode(_ result: QueryResult, _ index: Int) throws -> Document {
        do {
            return try result.storage.decode(index, Document.self, coding)
        } catch let error as DecodingError {
            let id = try? result.storage.value(index, of: DocumentDecoder.idName)
            throw located(error, "the document \(id?.json.shortened ?? "at index \(index)")")
        }
    }

    private func located(_ error: DecodingError, _ document: String) -> DecodingError {
        error.located(in: "\(document) of \(name.shortened)")
    }
}

extension DocumentCollection {
    /// Returns the number of documents that satisfy a condition, or of all documents.
    ///
    /// The condition has neither order nor limit.
    public nonisolated(nonsending) func count(where condition: DQL? = nil) async throws -> Int {
        let query: DQL =
            if let condition {
                "SELECT COUNT(*) FROM \(identifier: name) WHERE (\(part: condition.coded(coding)))"
            } else {
                "SELECT COUNT(*) FROM \(identifier: name)"
            }
        return try await scope.execute(query).singleValue(of: query).decode(Int.self, coding)
    }

    /// Whether there is a document with an id.
    public nonisolated(nonsending) func exists(_ id: some Encodable) async throws -> Bool {
        let id = try ValueEncoder(coding: coding).encode(id)
        return try await exists(where: "_id = \(id)")
    }

    /// Whether a document satisfies a condition, which has neither order nor limit.
    public nonisolated(nonsending) func exists(where condition: DQL) async throws -> Bool {
        let result = try await scope.execute(
            """
            SELECT _id FROM \(identifier: name) WHERE (\(part: condition.coded(coding))) LIMIT 1
            """)
        return !result.items.isEmpty
    }
}

extension DecodingError {
    /// Returns the error with the document that could not be decoded.
    fileprivate func located(in document: String) -> DecodingError {
        func located(_ context: Context) -> Context {
            Context(
                codingPath: context.codingPath,
                debugDescription: "\(document): \(context.debugDescription)",
                underlyingError: context.underlyingError)
        }
        switch self {
        case .typeMismatch(let type, let context): return .typeMismatch(type, located(context))
        case .valueNotFound(let type, let context): return .valueNotFound(type, located(context))
        case .keyNotFound(let key, let context): return .keyNotFound(key, located(context))
        case .dataCorrupted(let context): return .dataCorrupted(located(context))
        @unknown default: return self
        }
    }
}
