import SheafBytes
import SheafDocument
import SheafEngine
import SheafStatements
import SheafStorage
import SheafSync

/// Local documents that other peers refuse for lack of write rights.
extension Replicator {
    /// Maximum number of operations that are examined for one document.
    private static let maximumOperations = 64

    // MARK: Refusals by the peer

    /// Handles a notice of documents that the peer has refused.
    func handleRefusal(_ notice: RefusedNotice, on link: Connection) {
        guard let key = link.session.remote?.peerKey, let telling = link.sender else { return }
        let (count, isTooMuch) = notice.omitted.addingReportingOverflow(
            UInt64(notice.addresses.count))
        let sent = max(
            telling.sent, telling.outgoing?.snapshot.log.commit ?? 0, telling.parts?.commit ?? 0)
        guard let commit = link.isLimited ? commit(ofStep: notice.commit, link) : notice.commit
        else { return }
        // A peer can refuse only documents that it was sent.
        guard !isTooMuch, commit <= sent, count <= link.refusableCount else { return }
        link.refusableCount -= count
        refusals.omit(notice.omitted, through: commit, of: key)
        let known = statuses[key]?.syncedUpTo ?? 0
        for address in notice.addresses where telling.matcher.selects(for: address.collection) {
            guard isShared(address.collection, on: link),
                let commits = try? refusedCommits(of: address, commit, after: known, on: link)
            else { continue }
            refusals.add(
                address, commits, RefusedWrite.Reason(notice.reason), of: key,
                milliseconds: wallMilliseconds)
        }
    }

    /// Returns the commits of a refused document up to the commit of the notice.
    ///
    /// If the peer has acknowledged all of them, returns the last one. Returns nil if there are
    /// none, or if the document was evicted since.
    private func refusedCommits(
        of address: DocumentAddress, _ commit: CommitID, after known: CommitID, on link: Connection
    ) throws(EngineError) -> [CommitID]? {
        let snapshot = news.snapshot
        guard let key = snapshot.key(of: address) else { return nil }
        if let known = try snapshot.document(key, asOf: commit), let document = known,
            !document.isTombstone
        {
            guard try mayRead(document, key, address, snapshot, on: link) else { return nil }
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
    func isRefused(_ address: DocumentAddress, on link: Connection) -> Bool {
        guard !refusals.isEmpty, let key = link.session.remote?.peerKey else { return false }
        return refusals.has(address, of: key)
    }

    /// Records that a document is sent again; an acknowledgment without a refusal accepts it.
    func recordSentAgain(
        _ collection: String, _ id: ArraySlice<UInt8>, with commit: CommitID, on link: Connection
    ) {
        guard !refusals.isEmpty, let key = link.session.remote?.peerKey, refusals.has(key) else {
            return
        }
        refusals.recordSent(
            DocumentAddress(collection: collection, id: Array(id)), with: commit, to: key)
    }

    // MARK: Documents that this peer may not send

    /// Records a changed local document that the peer wants and this peer may not send.
    func recordUnsendable(
        _ change: CommitFeed.Change, of commit: CommitID, _ snapshot: DocumentSnapshot,
        on link: Connection
    ) throws(EngineError) {
        guard change.origin == nil, !change.isEvicted, let sendable = link.sendable,
            let telling = link.sender, let wanted = unfilteredMatcher(of: link)
        else { return }
        let key = change.key.bytes
        guard let address = snapshot.address(of: key),
            telling.matcher.selects(for: address.collection),
            let written = try snapshot.written(key, by: commit).1
        else { return }
        let shown = written.document.isTombstone ? change.before : written.document
        guard let shown,
            try !sendable.matches(shown, key: key, in: address.collection, snapshot.names),
            try mayRead(shown, key, address, snapshot, on: link)
        else { return }
        for state in [written.document, change.before]
        where try wanted.matches(state, key: key, in: address.collection, snapshot.names) {
            recordUnsendable(address, [commit], on: link)
        }
    }

    /// Records a document that was changed after a commit and that this peer may not send.
    func recordUnsendable(
        _ document: StoredDocument, _ key: [UInt8], _ address: DocumentAddress,
        since: CommitID, in snapshot: DocumentSnapshot, on link: Connection
    ) throws(EngineError) {
        guard link.sendable != nil else { return }
        var shown = document
        if document.isTombstone {
            guard let before = try snapshot.document(key, asOf: since), let before else { return }
            shown = before
        }
        guard try isWantedAndUnsendable(shown, key, address, snapshot, on: link) else { return }
        let commits = try localCommits(of: key, after: since, in: snapshot)
        if !commits.isEmpty { recordUnsendable(address, commits, on: link) }
    }

    /// Records documents last written here that the peer wants and this peer may not send.
    ///
    /// Documents that this peer subscribes to were compared; of these, only later commits count.
    func recordUnsendable(
        in snapshot: DocumentSnapshot, _ scan: inout DocumentScan, on link: Connection
    ) throws(EngineError) {
        guard link.sendable != nil, let wanted = unfilteredMatcher(of: link) else { return }
        try scan.run(snapshot) { (key, document, collection) throws(EngineError) in
            guard isShared(collection, on: link) else { return }
            try wanted.visit()
            let address = DocumentAddress(
                collection: collection, id: Array(key[StoreKey.documentPrefixLength...]))
            guard try isWantedAndUnsendable(document, key, address, snapshot, on: link) else {
                return
            }
            let isCompared =
                try wishes.matcher?.matches(
                    document, key: key, in: collection, snapshot.names) == true
            let commits = try localCommits(
                of: key, after: isCompared ? link.receiver.listed : 0, in: snapshot)
            if let newest = try snapshot.newestCommit(of: key), commits.last == newest {
                recordUnsendable(address, unacknowledged(commits, on: link), on: link)
            }
        }
    }

    /// Returns the commits that the peer has not acknowledged, or else the last one.
    private func unacknowledged(_ commits: [CommitID], on link: Connection) -> [CommitID] {
        let synced = statuses[link.session.remote?.peerKey ?? []]?.syncedUpTo ?? 0
        let newer = commits.drop { $0 <= synced }
        return Array(newer.isEmpty ? commits.suffix(1) : newer)
    }

    /// Records that the peer has reconciled its subscription with a local snapshot.
    ///
    /// `sent` is the commit of the last batch before that snapshot.
    func recordComparedRefusals(
        _ sent: CommitID, _ snapshot: DocumentSnapshot, on link: Connection
    ) {
        guard let key = link.session.remote?.peerKey, refusals.has(key) else { return }
        let unsendable = refusals.addresses(of: key).filter { address in
            guard let documentKey = snapshot.key(of: address),
                let document = try? snapshot.document(documentKey), !document.isTombstone
            else { return false }
            return
                (try? link.sendable?.matches(
                    document, key: documentKey, in: address.collection, snapshot.names)) == false
        }
        let commit = snapshot.log.commit
        refusals.recordCompared(
            with: sent < commit ? commit : commit + 1, by: key, except: unsendable)
    }

    /// Reconciles again if the peer has changed its subscription since the last review.
    ///
    /// The peer may want documents that this peer may not send.
    func reviewUnsendable(on link: Connection) {
        guard link.sendable != nil, let key = link.session.remote?.peerKey,
            let telling = link.sender
        else { return }
        // Once per subscription of the peer: otherwise both peers could trigger each other without
        // end.
        let wanted = Set(telling.matcher.subscribed.map(\.wire))
        guard wanted != link.receiver.reviewed else { return }
        link.receiver.reviewed = wanted
        // A reconciliation that is in progress covers it.
        guard link.receiver.hasCaughtUp || link.receiver.reached > 0, !wishes.queries.isEmpty else {
            return
        }
        wishes.cursors[key] = nil
        renewSubscription(link)
    }

    /// Records differing documents that this peer may not send, until remote states are received.
    func recordDiffering(_ addresses: [DocumentAddress], on link: Connection) {
        guard link.sendable != nil else { return }
        for address in addresses {
            if let commits = unsendableCommits(of: address, on: link) {
                link.receiver.disputed[address] = commits
            }
        }
    }

    /// Records documents that the peer sent without a local write, for a review once durable.
    func recordLacking(_ outcome: WriteJob.Outcome, on link: Connection) {
        guard link.sendable != nil else { return }
        for document in outcome.outdated where document.lacksOwn {
            link.receiver.lacking[document.address] = outcome.lastCommit ?? 0
        }
        reviewLacking(link)
    }

    /// Reviews documents that lack local writes at the peer.
    ///
    /// The merged document must be durable and the peer's subscription known. Until then a document
    /// is listed once, however often the peer sends it.
    func reviewLacking(_ link: Connection) {
        guard !link.receiver.lacking.isEmpty, link.sender != nil, link.receiver.unsettled.isEmpty
        else { return }
        let durable = news.snapshot.log.commit
        let ready = link.receiver.lacking.filter { $0.value <= durable }.keys.sorted(by: <)
        for address in ready {
            link.receiver.lacking[address] = nil
            guard let commits = unsendableCommits(of: address, on: link) else { continue }
            link.receiver.unsettled.append((address, commits))
        }
    }

    /// Returns the local commits of a document that this peer may not send; nil if it may.
    private func unsendableCommits(of address: DocumentAddress, on link: Connection) -> [CommitID]?
    {
        let snapshot = news.snapshot
        guard isShared(address.collection, on: link), let sendable = link.sendable,
            let key = snapshot.key(of: address),
            let document = try? snapshot.document(key),
            let own = try? localCommits(of: key, after: 0, in: snapshot),
            let newest = try? snapshot.newestCommit(of: key),
            !own.isEmpty || hasLocalWrite(document)
        else { return nil }
        let commits = own.isEmpty ? [newest] : own
        guard let shown = try? shown(document, key, in: commits, snapshot),
            (try? sendable.matches(
                shown, key: key, in: address.collection, snapshot.names)) == false
        else { return nil }
        return unacknowledged(commits, on: link)
    }

    /// Returns a document or, if the last commit deleted it, its former state; nil if unknown.
    private func shown(
        _ document: StoredDocument, _ key: [UInt8], in commits: [CommitID],
        _ snapshot: DocumentSnapshot
    ) throws(EngineError) -> StoredDocument? {
        guard document.isTombstone else { return document }
        guard let last = commits.last, let before = try snapshot.document(key, asOf: last - 1)
        else { return nil }
        return before.flatMap { $0.isTombstone ? nil : $0 }
    }

    /// Settles the disputed documents whose content the peer has sent, and evaluates the others.
    func resolveDisputed(_ outcome: WriteJob.Outcome, isComplete: Bool, on link: Connection) {
        for address in outcome.covered { link.receiver.disputed[address] = nil }
        if !outcome.covered.isEmpty {
            link.receiver.unsettled.removeAll { outcome.covered.contains($0.key) }
        }
        if let key = link.session.remote?.peerKey {
            for address in outcome.covered { refusals.remove(address, of: key) }
        }
        guard isComplete, !link.receiver.disputed.isEmpty else { return }
        // Sorted in reverse, since documents are removed from the end.
        link.receiver.unsettled += link.receiver.disputed.sorted { $1.key < $0.key }
        link.receiver.disputed = [:]
        resolveDisputed(on: link)
    }

    /// Evaluates the peer's queries on disputed documents, until the slice is used up.
    ///
    /// The documents wait for the peer's subscription, which decides whether it wants them.
    func resolveDisputed(on link: Connection) {
        reviewLacking(link)
        guard link.session.isOpen, link.hasUnsettled else { return }
        let snapshot = queries.documents.snapshot()
        while let (address, commits) = link.receiver.unsettled.last {
            if let key = snapshot.key(of: address), let document = try? snapshot.document(key) {
                do throws(EngineError) {
                    if let shown = try shown(document, key, in: commits, snapshot),
                        try isWantedAndUnsendable(shown, key, address, snapshot, on: link)
                    {
                        recordUnsendable(address, commits, on: link)
                    }
                } catch {
                    if error == .paused { return }
                }
            }
            link.receiver.unsettled.removeLast()
        }
        // Documents whose review had to wait for these are reviewed next.
        reviewLacking(link)
    }

    private func recordUnsendable(
        _ address: DocumentAddress, _ commits: [CommitID], on link: Connection
    ) {
        guard let key = link.session.remote?.peerKey else { return }
        refusals.add(address, commits, .ownGrant, of: key, milliseconds: wallMilliseconds)
    }

    private func isWantedAndUnsendable(
        _ document: StoredDocument, _ key: [UInt8], _ address: DocumentAddress,
        _ snapshot: DocumentSnapshot, on link: Connection
    ) throws(EngineError) -> Bool {
        guard isShared(address.collection, on: link), let sendable = link.sendable,
            try !sendable.matches(document, key: key, in: address.collection, snapshot.names),
            try mayRead(document, key, address, snapshot, on: link),
            let wanted = unfilteredMatcher(of: link)
        else { return false }
        return try wanted.matches(document, key: key, in: address.collection, snapshot.names)
    }

    private func mayRead(
        _ document: StoredDocument, _ key: [UInt8], _ address: DocumentAddress,
        _ snapshot: DocumentSnapshot, on link: Connection
    ) throws(EngineError) -> Bool {
        guard isShared(address.collection, on: link) else { return false }
        guard let readable = link.readable else { return true }
        return try readable.matches(document, key: key, in: address.collection, snapshot.names)
    }

    /// Returns a matcher of the peer's queries that ignores rights and is charged to its budget.
    private func unfilteredMatcher(of link: Connection) -> SubscriptionMatcher? {
        guard let telling = link.sender else { return nil }
        if let known = telling.unfiltered { return known }
        let matcher = SubscriptionMatcher(
            telling.matcher.subscribed, queries, meter: telling.matcher.meter, where: nil)
        link.sender?.unfiltered = matcher
        return matcher
    }

    /// Whether the version vector of a document contains a write of this store.
    private func hasLocalWrite(_ document: StoredDocument) -> Bool {
        let sites = queries.documents.ownSites
        let vector = document.read { bytes in try? EncodedDocument(bytes).vector() }
        return vector.map { vector in sites.contains { vector.time(of: $0) > .initial } } ?? false
    }

    /// Returns the commits after `commit` in which this store wrote a document, in ascending order.
    ///
    /// Commits that precede the available history are omitted.
    private func localCommits(
        of key: [UInt8], after commit: CommitID, in snapshot: DocumentSnapshot
    ) throws(EngineError) -> [CommitID] {
        let sites = queries.documents.ownSites
        var history = key.span.withUnsafeBytes { snapshot.log.history(of: $0) }
        var found: [CommitID] = []
        var newer: (operation: LoggedOperation, times: [HybridTime])?
        for _ in 0..<Self.maximumOperations {
            let logged = try onStorage { () throws(StorageError) in try history.next() }
            var times = sites.map { _ in HybridTime.initial }
            if let logged, logged.operation.kind != .remove {
                times = try onDocument(key) { () throws(Malformed) in
                    let vector = try DocumentPayload(logged.operation.payload).vector()
                    return sites.map { vector.time(of: $0) }
                }
            }
            let isKnown = logged != nil || !history.isFoldedAway
            if let newer {
                // Writes of a long or folded commit are detected only by the stamps of local sites.
                let isStamped = isKnown && zip(newer.times, times).contains { $0 > $1 }
                let isOwn = try snapshot.isLocal(newer.operation) ?? isStamped
                if isOwn { found.append(newer.operation.commit) }
            }
            guard let logged, logged.operation.kind != .remove, logged.commit > commit else {
                break
            }
            newer = (logged, times)
        }
        return found.reversed()
    }
}

extension DocumentSnapshot {
    /// Whether this store wrote an operation itself; nil if the log does not show it.
    fileprivate func isLocal(_ logged: LoggedOperation) throws(EngineError) -> Bool? {
        let first = try onStorage { () throws(StorageError) in
            try log.firstOperation(ofCommitOf: logged)
        }
        return first.map { !$0.key.elementsEqual(StoreKey.origin.bytes) }
    }
}
