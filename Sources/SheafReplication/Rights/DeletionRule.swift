import SheafDocument
import SheafEngine
import SheafQuery
import SheafStorage
import SheafSync

/// The rule that decides which deletions a peer with limited rights may learn of.
///
/// A tombstone has no fields for the read rule. A peer may learn of a deletion if the read rule
/// needs only `_id`, if the peer has sent the document, or if the log contains a former state that
/// the peer could read. The tombstone's vector proves nothing: a hello can name the site of
/// another store.
struct DeletionRule {
    let readable: SubscriptionMatcher
    /// The part of the read rule that `_id` alone decides.
    let readableByID: SubscriptionMatcher
    var received: ReceivedDocuments

    /// Maximum number of former states of a deleted document that are checked.
    private static let maximumStatesRead = 32

    /// Whether the peer may learn that a document was deleted.
    func mayKnowDeletion(
        _ key: [UInt8], _ address: DocumentAddress, _ snapshot: DocumentSnapshot
    ) throws(EngineError) -> Bool {
        if try isReadableByID(key, address, snapshot.names) { return true }
        if received.contains(address) { return true }
        var history = key.span.withUnsafeBytes { snapshot.log.history(of: $0) }
        for _ in 0..<Self.maximumStatesRead {
            guard let logged = try onStorage({ () throws(StorageError) in try history.next() }),
                logged.commit >= snapshot.log.compactedThrough,
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
        return try readableByID.matches(
            StoredDocument(empty), key: key, in: address.collection, names)
    }
}
