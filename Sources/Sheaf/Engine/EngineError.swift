package import SheafBytes
package import SheafDocument
package import SheafQuery
package import SheafStorage

/// What can go wrong when documents are read or written.
package enum EngineError: Error, Equatable, Sendable {
    case storage(StorageError)
    /// The bytes of a document are not what the format says.
    case damaged(key: [UInt8], Malformed)
    /// A query cannot be evaluated on a document.
    case evaluation(QueryError)
    /// Evaluation for another peer continues in the next turn of the loop; no error.
    case paused
    /// What somebody else has sent is no document.
    case received(Malformed)
    /// The store has an engine already.
    case inUse
    case edit(EditError)
    case id(DocumentID.Refusal)
    case clock(HybridClock.Refusal)
    /// There is a document with this id.
    case exists(collection: String, id: Value)
    /// A delta builds on what has not been seen here: the whole document is needed.
    case gap(collection: String, id: Value)
    /// Something is larger than the store allows.
    case limit(name: String, value: Int, limit: Int)
    /// A collection cannot have this name.
    case invalidCollection(String)
    /// The collection has an index of this name.
    case indexExists(collection: String, name: String)
    case noIndex(collection: String, name: String)
    /// An index cannot be like this.
    case invalidIndex(String)
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
        case .paused: "the evaluation continues later"
        case .received(let reason): "what was received is no document: \(reason)"
        case .inUse: "the store has an engine of documents already; it can have one at a time"
        case .edit(let error): "\(error)"
        case .id(let refusal): "\(refusal)"
        case .clock(let refusal): "\(refusal)"
        case .exists(let collection, let id):
            "there is a document with the _id \(id.json.shortened) in \(collection.shortened) already"
        case .gap(let collection, let id):
            "what changed of the document \(id.json.shortened) in \(collection.shortened) "
                + "builds on changes that are not here"
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
                    + "\(Directory.maximumCollectionNameLength)"
        }
    }
}

/// Runs what reads documents, and says which one was damaged.
func onDocument<Result>(
    _ key: [UInt8], _ body: () throws(Malformed) -> Result
) throws(EngineError) -> Result {
    do throws(Malformed) { return try body() } catch { throw .damaged(key: key, error) }
}

/// Runs what reads the log.
func onStorage<Result>(
    _ body: () throws(StorageError) -> Result
) throws(EngineError) -> Result {
    do throws(StorageError) { return try body() } catch { throw .storage(error) }
}
