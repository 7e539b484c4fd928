import SheafDocument
import SheafEngine
import SheafQuery
import SheafStatements
import SheafStorage
import SheafSync

/// Documents that the peer wants and this peer may not send.
extension Sender {
    /// Returns a matcher of the peer's queries that ignores rights and is charged to its budget.
    mutating func unfilteredMatcher(_ queries: QueryEngine) -> SubscriptionMatcher {
        if let unfiltered { return unfiltered }
        let new = SubscriptionMatcher(
            matcher.subscribed, queries, meter: matcher.meter, where: nil)
        unfiltered = new
        return new
    }

    /// Records a changed local document that the peer wants and this peer may not send.
    mutating func recordUnsendable(
        _ change: CommitFeed.Change, of commit: CommitID, _ snapshot: DocumentSnapshot,
        _ context: PeerContext
    ) throws(EngineError) {
        guard change.origin == nil, !change.isEvicted, let sendable = context.access.sendable
        else { return }
        let wanted = unfilteredMatcher(context.queries)
        let key = change.key.bytes
        guard let address = snapshot.address(of: key), matcher.selects(for: address.collection),
            let written = try snapshot.written(key, by: commit).1
        else { return }
        let shown = written.document.isTombstone ? change.before : written.document
        guard let shown,
            try !sendable.matches(shown, key: key, in: address.collection, snapshot.names),
            try context.access.mayRead(shown, key, address, snapshot.names)
        else { return }
        for state in [written.document, change.before]
        where try wanted.matches(state, key: key, in: address.collection, snapshot.names) {
            effects.append(.unsendable(address, [commit]))
        }
    }

    /// Records a document that was changed after a commit and that this peer may not send.
    mutating func recordUnsendable(
        _ document: StoredDocument, _ key: [UInt8], _ address: DocumentAddress,
        since: CommitID, in snapshot: DocumentSnapshot, _ context: PeerContext
    ) throws(EngineError) {
        guard context.access.sendable != nil else { return }
        var shown = document
        if document.isTombstone {
            guard let before = try snapshot.document(key, asOf: since), let before else { return }
            shown = before
        }
        let wanted = unfilteredMatcher(context.queries)
        guard try context.isUnsendable(shown, key, address, snapshot, wantedBy: wanted) else {
            return
        }
        let commits = try snapshot.localCommits(
            of: key, after: since, context.queries.documents.ownSites)
        if !commits.isEmpty { effects.append(.unsendable(address, commits)) }
    }

    /// Records documents last written locally that the peer wants and this peer may not send.
    ///
    /// Documents that this peer subscribes to were reconciled; of these, only later commits matter.
    mutating func recordUnsendable(
        in snapshot: DocumentSnapshot, _ scan: inout DocumentScan, _ context: PeerContext
    ) throws(EngineError) {
        guard context.access.sendable != nil else { return }
        let wanted = unfilteredMatcher(context.queries)
        try scan.run(snapshot) { (key, document, collection) throws(EngineError) in
            guard context.access.isShared(collection) else { return }
            try wanted.visit()
            let address = DocumentAddress(
                collection: collection, id: Array(key[StoreKey.documentPrefixLength...]))
            guard try context.isUnsendable(document, key, address, snapshot, wantedBy: wanted)
            else { return }
            let isCompared =
                try context.subscriptions.matcher?.matches(
                    document, key: key, in: collection, snapshot.names) == true
            let commits = try snapshot.localCommits(
                of: key, after: isCompared ? context.listed : 0,
                context.queries.documents.ownSites)
            if let newest = try snapshot.newestCommit(of: key), commits.last == newest {
                effects.append(.unsendable(address, context.unacknowledged(commits)))
            }
        }
    }
}

/// Local documents that the peer refuses for lack of rights.
extension Sender {
    /// Handles a notice of documents that the peer has refused.
    mutating func handleRefusal(
        _ notice: RefusedNotice, _ context: PeerContext, on exchange: inout DocumentExchange
    ) {
        let (count, isTooMuch) = notice.omitted.addingReportingOverflow(
            UInt64(notice.addresses.count))
        guard let commit = context.isLimited ? commit(ofStep: notice.commit) : notice.commit
        else { return }
        // A peer can refuse only documents that it was sent.
        guard !isTooMuch, commit <= newestSent, count <= exchange.refusableCount else { return }
        exchange.refusableCount -= count
        effects.append(.refusedOmitted(notice.omitted, through: commit))
        for address in notice.addresses where matcher.selects(for: address.collection) {
            guard context.access.isShared(address.collection),
                let commits = try? refusedCommits(of: address, through: commit, context)
            else { continue }
            effects.append(.refused(address, commits, RefusedWrite.Reason(notice.reason)))
        }
    }

    /// Returns the unacknowledged commits of a refused document, up to the commit of the notice.
    ///
    /// If the peer has acknowledged all of them, returns the last one. Returns nil if there are
    /// none, if the document was evicted since, or if the peer may not read it.
    private func refusedCommits(
        of address: DocumentAddress, through commit: CommitID, _ context: PeerContext
    ) throws(EngineError) -> [CommitID]? {
        let snapshot = context.snapshot
        guard let key = snapshot.key(of: address) else { return nil }
        if let known = try snapshot.document(key, asOf: commit), let document = known,
            !document.isTombstone
        {
            guard try context.access.mayRead(document, key, address, snapshot.names) else {
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
            guard found.commit > context.syncedUpTo || commits.isEmpty else { break }
            if commits.last != found.commit { commits.append(found.commit) }
        }
        return commits.isEmpty ? nil : commits.reversed()
    }
}
