package import SheafBytes
package import SheafDocument
package import SheafStorage

/// An error in reading or writing documents.
package enum EngineError: Error, Equatable, Sendable {
    case storage(StorageError)
    /// The bytes of a document violate the format.
    case damaged(key: [UInt8], Malformed)
    /// A query cannot be evaluated on a document.
    case evaluation(StoreError)
    /// A pause, not an error: evaluation for a peer continues in its next slice.
    case paused
    /// The caller of `write` rolled the transaction back, without an error.
    case rolledBack
    /// The received data is not a document.
    case invalidDocument(Malformed)
    /// The store already has an engine.
    case inUse
    /// A document, an id, an edit or a time is refused.
    case document(DocumentError)
    /// A document with this id already exists.
    case exists(collection: String, id: Value)
    /// A delta builds on changes that the store lacks: the complete document is needed.
    case gap(collection: String, id: Value)
    /// A value exceeds a limit of the store.
    case limit(name: String, value: Int, limit: Int)
    /// The name is not valid for a collection.
    case invalidCollection(String)
    /// The collection already has an index with this name.
    case indexExists(collection: String, name: String)
    case noIndex(collection: String, name: String)
    /// The definition of an index is not valid.
    case invalidIndex(String)
}

extension EngineError {
    /// The error of an evaluation that another thread stopped.
    package static let stopped = EngineError.evaluation(
        StoreError(.cancelled, "the evaluation was stopped"))
}

extension EngineError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .storage(let error): "\(error)"
        case .damaged(let key, let reason):
            "the document with the key "
                + key.map { String($0, radix: 16) }.joined(separator: " ").shortened + " "
                + "is damaged: \(reason)"
        case .evaluation(let error): error.message
        case .paused: "evaluation is paused and continues later"
        case .rolledBack: "the transaction was rolled back"
        case .invalidDocument(let reason): "received data is not a document: \(reason)"
        case .inUse: "the store already has a document engine; it can have one at a time"
        case .document(let error): "\(error)"
        case .exists(let collection, let id):
            "there is a document with the _id \(id.json.shortened) in \(collection.shortened) already"
        case .gap(let collection, let id):
            "the delta of the document \(id.json.shortened) in \(collection.shortened) "
                + "builds on changes that this store does not have"
        case .limit(let name, let value, let limit):
            "\(name) is \(limit), and this would be \(value)"
        case .indexExists(let collection, let name):
            "\(collection.shortened) has an index \(name.shortened) already"
        case .noIndex(let collection, let name):
            "\(collection.shortened) has no index \(name.shortened)"
        case .invalidIndex(let reason): reason
        case .invalidCollection(let name):
            name.isEmpty
                ? "the name of a collection is empty"
                : "the name of a collection has \(name.utf8.count) bytes; it can have "
                    + "\(Catalog.maximumCollectionNameLength)"
        }
    }
}

/// Runs a closure that reads a document, and adds the key of the document to its errors.
package func onDocument<Result>(
    _ key: [UInt8], _ body: () throws(Malformed) -> Result
) throws(EngineError) -> Result {
    do throws(Malformed) { return try body() } catch { throw .damaged(key: key, error) }
}

/// Runs a closure that changes or joins a document, and converts its errors.
@inline(__always)
func onDocument<Result>(
    _ body: () throws(DocumentError) -> Result
) throws(EngineError) -> Result {
    do throws(DocumentError) { return try body() } catch {
        // The caller knows the document that has the gap.
        throw error == .gap ? .gap(collection: "", id: .null) : .document(error)
    }
}

/// Runs a closure that reads the log, and converts its errors.
package func onStorage<Result>(
    _ body: () throws(StorageError) -> Result
) throws(EngineError) -> Result {
    do throws(StorageError) { return try body() } catch { throw .storage(error) }
}
