import SheafBytes
import SheafDocument
import SheafEngine
import SheafStatements
import SheafStorage
import SheafSync

/// Local documents that other peers refuse for lack of write rights.
extension Replicator {
    /// Returns the refusal of a document by a peer; nil where there is none.
    func refusedWrite(of collection: String, _ id: Value, by key: [UInt8]) -> RefusedWrite? {
        guard let bytes = try? DocumentID.key(of: id) else { return nil }
        return refusals.write(DocumentAddress(collection: collection, id: bytes), of: key)
    }

    // MARK: Documents that this peer may not send

    /// Records local commits that contain writes this peer has no right to send.
    func recordUnsendable(
        _ address: DocumentAddress, _ commits: [CommitID], on connection: Connection
    ) {
        guard let key = connection.session.remote?.peerKey else { return }
        refusals.add(address, commits, .ownGrant, of: key, milliseconds: wallMilliseconds)
    }

    /// Records that the peer has reconciled its subscription with a local snapshot.
    ///
    /// `sent` is the commit of the last batch before that snapshot.
    func recordComparedRefusals(
        _ sent: CommitID, _ snapshot: DocumentSnapshot, on connection: Connection
    ) {
        guard let key = connection.session.remote?.peerKey else { return }
        let unsendable = refusals.addresses(of: key).filter { address in
            guard let documentKey = snapshot.key(of: address),
                let document = try? snapshot.document(documentKey), !document.isTombstone
            else { return false }
            return
                (try? connection.access.sendable?.matches(
                    document, key: documentKey, in: address.collection, snapshot.names)) == false
        }
        let commit = snapshot.log.commit
        refusals.recordCompared(
            with: sent < commit ? commit : commit + 1, by: key, except: unsendable)
    }

    /// Reconciles again if the peer has changed its subscription since the last review.
    ///
    /// The peer may want documents that this peer may not send.
    func reviewUnsendable(on connection: Connection) {
        connection.sender?.isReviewDue = false
        guard connection.access.sendable != nil, let key = connection.session.remote?.peerKey,
            let sender = connection.sender
        else { return }
        // Once per subscription is enough: otherwise both peers could trigger each other without
        // end.
        let wanted = Set(sender.matcher.subscribed.map(\.wire))
        guard wanted != connection.receiver.reviewed else { return }
        connection.receiver.reviewed = wanted
        // A reconciliation that is in progress covers these documents.
        guard connection.receiver.hasCaughtUp || connection.receiver.reached > 0,
            !subscriptions.queries.isEmpty
        else {
            return
        }
        subscriptions.cursors[key] = nil
        renewSubscription(connection)
    }
}
