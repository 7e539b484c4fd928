import SheafBytes
import SheafDocument
import SheafEngine
import SheafStatements
import SheafStorage
import SheafSync

/// Local documents that other peers refuse for lack of write rights.
extension Replicator {
    // MARK: Refusals by the peer

    /// Handles a notice of documents that the peer has refused.
    func handleRefusal(_ notice: RefusedNotice, on connection: Connection) {
        guard let key = connection.session.remote?.peerKey, let sender = connection.sender else {
            return
        }
        let (count, isTooMuch) = notice.omitted.addingReportingOverflow(
            UInt64(notice.addresses.count))
        guard
            let commit = connection.isLimited
                ? sender.commit(ofStep: notice.commit) : notice.commit
        else { return }
        // A peer can refuse only documents that it was sent.
        guard !isTooMuch, commit <= sender.newestSent, count <= connection.exchange.refusableCount
        else {
            return
        }
        connection.exchange.refusableCount -= count
        refusals.omit(notice.omitted, through: commit, of: key)
        let known = peers[key]?.syncedUpTo ?? 0
        for address in notice.addresses where sender.matcher.selects(for: address.collection) {
            guard connection.access.isShared(address.collection),
                let commits = try? refusedCommits(of: address, commit, after: known, on: connection)
            else { continue }
            refusals.add(
                address, commits, RefusedWrite.Reason(notice.reason), of: key,
                milliseconds: wallMilliseconds)
        }
    }

    /// Returns the unacknowledged commits of a refused document, up to the commit of the notice.
    ///
    /// If the peer has acknowledged all of them, returns the last one. Returns nil if there are
    /// none, if the document was evicted since, or if the peer may not read it.
    private func refusedCommits(
        of address: DocumentAddress, _ commit: CommitID, after known: CommitID,
        on connection: Connection
    ) throws(EngineError) -> [CommitID]? {
        let snapshot = news.snapshot
        guard let key = snapshot.key(of: address) else { return nil }
        if let known = try snapshot.document(key, asOf: commit), let document = known,
            !document.isTombstone
        {
            guard try connection.access.mayRead(document, key, address, snapshot.names) else {
                return nil
            }
        }
        var history = key.span.withUnsafeBytes { snapshot.log.history(of: $0) }
        var (commits, count): ([CommitID], Int) = ([], 0)
        while count < DocumentSnapshot.maximumOperations,
            let found = try onStorage({ () throws(StorageError) in try history.next() })
        {
            count += 1
            guard found.operation.kind != .remove else { break }
            guard found.commit <= commit else { continue }
            guard found.commit > known || commits.isEmpty else { break }
            if commits.last != found.commit { commits.append(found.commit) }
        }
        return commits.isEmpty ? nil : commits.reversed()
    }

    /// Returns the refusal of a document by a peer; nil where there is none.
    func refusedWrite(of collection: String, _ id: Value, by key: [UInt8]) -> RefusedWrite? {
        guard let bytes = try? DocumentID.key(of: id) else { return nil }
        return refusals.write(DocumentAddress(collection: collection, id: bytes), of: key)
    }

    // MARK: Documents that this peer may not send

    /// Records that the peer has reconciled its subscription with a local snapshot.
    ///
    /// `sent` is the commit of the last batch before that snapshot.
    func recordComparedRefusals(
        _ sent: CommitID, _ snapshot: DocumentSnapshot, on connection: Connection
    ) {
        guard let key = connection.session.remote?.peerKey, refusals.has(key) else { return }
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
