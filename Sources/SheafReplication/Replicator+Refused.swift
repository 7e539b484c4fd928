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
        let known = statuses[key]?.syncedUpTo ?? 0
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
        while count < Self.maximumOperations,
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

    /// Whether the peer refuses the local version of a document, and so lacks the base of a delta.
    func isRefused(_ address: DocumentAddress, on connection: Connection) -> Bool {
        guard !refusals.isEmpty, let key = connection.session.remote?.peerKey else { return false }
        return refusals.has(address, of: key)
    }

    /// Records that a document is sent again; an acknowledgment without a refusal accepts it.
    func recordSentAgain(
        _ collection: String, _ id: ArraySlice<UInt8>, with commit: CommitID,
        on connection: Connection
    ) {
        guard !refusals.isEmpty, let key = connection.session.remote?.peerKey, refusals.has(key)
        else {
            return
        }
        refusals.recordSent(
            DocumentAddress(collection: collection, id: Array(id)), with: commit, to: key)
    }

    // MARK: Documents that this peer may not send

    /// Records a changed local document that the peer wants and this peer may not send.
    func recordUnsendable(
        _ change: CommitFeed.Change, of commit: CommitID, _ snapshot: DocumentSnapshot,
        on connection: Connection
    ) throws(EngineError) {
        guard change.origin == nil, !change.isEvicted, let sendable = connection.access.sendable,
            let sender = connection.sender, let wanted = unfilteredMatcher(of: connection)
        else { return }
        let key = change.key.bytes
        guard let address = snapshot.address(of: key),
            sender.matcher.selects(for: address.collection),
            let written = try snapshot.written(key, by: commit).1
        else { return }
        let shown = written.document.isTombstone ? change.before : written.document
        guard let shown,
            try !sendable.matches(shown, key: key, in: address.collection, snapshot.names),
            try connection.access.mayRead(shown, key, address, snapshot.names)
        else { return }
        for state in [written.document, change.before]
        where try wanted.matches(state, key: key, in: address.collection, snapshot.names) {
            recordUnsendable(address, [commit], on: connection)
        }
    }

    /// Records a document that was changed after a commit and that this peer may not send.
    func recordUnsendable(
        _ document: StoredDocument, _ key: [UInt8], _ address: DocumentAddress,
        since: CommitID, in snapshot: DocumentSnapshot, on connection: Connection
    ) throws(EngineError) {
        guard connection.access.sendable != nil else { return }
        var shown = document
        if document.isTombstone {
            guard let before = try snapshot.document(key, asOf: since), let before else { return }
            shown = before
        }
        guard try isWantedAndUnsendable(shown, key, address, snapshot, on: connection) else {
            return
        }
        let commits = try localCommits(of: key, after: since, in: snapshot)
        if !commits.isEmpty { recordUnsendable(address, commits, on: connection) }
    }

    /// Records documents last written locally that the peer wants and this peer may not send.
    ///
    /// Documents that this peer subscribes to were reconciled; of these, only later commits matter.
    func recordUnsendable(
        in snapshot: DocumentSnapshot, _ scan: inout DocumentScan, on connection: Connection
    ) throws(EngineError) {
        guard connection.access.sendable != nil, let wanted = unfilteredMatcher(of: connection)
        else {
            return
        }
        try scan.run(snapshot) { (key, document, collection) throws(EngineError) in
            guard connection.access.isShared(collection) else { return }
            try wanted.visit()
            let address = DocumentAddress(
                collection: collection, id: Array(key[StoreKey.documentPrefixLength...]))
            guard try isWantedAndUnsendable(document, key, address, snapshot, on: connection) else {
                return
            }
            let isCompared =
                try subscriptions.matcher?.matches(
                    document, key: key, in: collection, snapshot.names) == true
            let commits = try localCommits(
                of: key, after: isCompared ? connection.receiver.listed : 0, in: snapshot)
            if let newest = try snapshot.newestCommit(of: key), commits.last == newest {
                recordUnsendable(address, unacknowledged(commits, on: connection), on: connection)
            }
        }
    }

    /// Returns the commits that the peer has not acknowledged, or else the last one.
    func unacknowledged(_ commits: [CommitID], on connection: Connection) -> [CommitID] {
        let synced = statuses[connection.session.remote?.peerKey ?? []]?.syncedUpTo ?? 0
        let newer = commits.drop { $0 <= synced }
        return Array(newer.isEmpty ? commits.suffix(1) : newer)
    }

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
