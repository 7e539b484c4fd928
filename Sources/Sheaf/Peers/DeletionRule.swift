import SheafDocument
import SheafStorage
import SheafSync

/// Which deletions a peer with limited rights may know of.
///
/// A tombstone has nothing that a rule could read. So the rule has to need the id only, or the peer has sent
/// the document, or the log still has a state that the peer could read. The sites in its vector do not count:
/// a peer can greet with the site of another store.
struct DeletionRule {
    let readable: SubscriptionMatcher
    /// The part of the read rule that `_id` alone decides.
    let readableByID: SubscriptionMatcher
    var brought: BroughtDocuments

    /// The newest states of a deleted document that are read to find out who could read it.
    private static let mostStatesRead = 32

    /// Whether the peer may know that a document was deleted.
    func mayKnowDeletion(
        _ key: [UInt8], _ address: DocumentAddress, _ snapshot: DocumentSnapshot
    ) throws(EngineError) -> Bool {
        if try isReadableByID(key, address, snapshot.names) { return true }
        if brought.contains(address) { return true }
        var history = key.span.withUnsafeBytes { snapshot.log.history(of: $0) }
        for _ in 0..<Self.mostStatesRead {
            guard let logged = try onStorage({ () throws(StorageError) in try history.next() }),
                logged.commit >= snapshot.log.foldedThrough,
                let state = try snapshot.document(key, asOf: logged.commit)
            else { return false }
            let matches = try readable.matches(
                state, key: key, in: address.collection, snapshot.names)
            if matches { return true }
        }
        return false
    }

    /// Whether the peer may read every document that has this id.
    func isReadableByID(
        _ key: [UInt8], _ address: DocumentAddress, _ names: NameTable
    ) throws(EngineError) -> Bool {
        guard let empty = try? Insertion.initial(Object(), NameTable()) else { return false }
        let document = StoredDocument(
            empty, stateLength: empty.count, deltaLength: 0, deltaCount: 0)
        return try readableByID.matches(document, key: key, in: address.collection, names)
    }
}
