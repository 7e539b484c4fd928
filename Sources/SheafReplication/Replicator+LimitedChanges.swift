import SheafBytes
import SheafDocument
import SheafEngine
import SheafStorage
import SheafSync

/// Changed documents for peers with limited rights, and the evaluation of their queries.
extension Replicator {
    /// A document that changed since the last publication, or a shadow that the peer changed.
    struct FreshChange {
        package let key: [UInt8]
        let before: StoredDocument?
        package var commit: News.Commit?
        /// The remote commit that changed the peer's shadow of a hidden document.
        var shadowCommit: UInt64?
    }

    /// Collects changed documents for all connections to peers with limited rights.
    func collectChangesForLimitedPeers() {
        let limited = orderedConnections.filter { $0.isLimited && $0.sender != nil }
        guard !limited.isEmpty else { return }
        let changes: [FreshChange]
        do throws(EngineError) { changes = try freshChanges() } catch {
            for connection in limited { failSending(connection, error) }
            return
        }
        for connection in limited {
            connection.sender?.sent = news.snapshot.log.commit
            do throws(EngineError) { try collect(changes, for: connection) } catch {
                failSending(connection, error)
            }
        }
    }

    private func freshChanges() throws(EngineError) -> [FreshChange] {
        var found: [FreshChange] = []
        for commit in news.fresh {
            for change in commit.changes {
                found.append(
                    FreshChange(key: change.key.bytes, before: change.before, commit: commit))
            }
        }
        guard let before = news.stateBefore else { return found }
        let known = Set(found.map(\.key))
        let end = news.end(of: before.log.commit)
        var others: [[UInt8]] = []
        news.snapshot.log.tree.forEach(in: StoreKey.documents) { key, value in
            if let pointer = RecordPointer(value), pointer.position >= end {
                others.append(Array(key))
            }
            return true
        }
        let fresh = Set(news.fresh.map(\.number))
        for key in others {
            if known.contains(key), try areAll(fresh, commitsOf: key, since: before) { continue }
            found.append(FreshChange(key: key, before: try before.document(key)))
        }
        return found
    }

    /// Whether `fresh` certainly contains every commit that wrote a document since a snapshot.
    private func areAll(
        _ fresh: Set<CommitID>, commitsOf key: [UInt8], since before: DocumentSnapshot
    ) throws(EngineError) -> Bool {
        let snapshot = news.snapshot
        guard before.log.commit >= snapshot.log.compactedThrough,
            let newest = try snapshot.newestCommit(of: key),
            let others = try snapshot.commits(
                of: key, since: before.log.commit, most: fresh.count)
        else { return false }
        return fresh.contains(newest) && others.allSatisfy(fresh.contains)
    }

    /// Collects the changed documents that the peer may read; its queries are evaluated later.
    func collect(_ changes: [FreshChange], for connection: Connection) throws(EngineError) {
        guard let sender = connection.sender, let isReadable = readFilter(connection),
            sender.isStreaming || sender.compared != nil || sender.preparation != nil
        else { return }
        let snapshot = context(of: connection).shown(news.snapshot)
        for change in changes {
            let isShadowed = snapshot.shadows[change.key] != nil
            guard let address = snapshot.address(of: change.key),
                sender.matcher.selects(for: address.collection),
                isShadowed || change.shadowCommit == nil
            else { continue }
            let isFromPeer =
                change.commit.map { self.isFromPeer($0, connection) }
                ?? change.shadowCommit.map { $0 > sender.remoteCommit } ?? false
            guard !isFromPeer || sender.matcher.isRanked else { continue }
            var before = change.before
            if let document = before, try !isReadable(document, change.key, address) {
                before = nil
            }
            // The peer sees its shadow of a hidden document, and only its own writes change the
            // shadow.
            if before == nil, isShadowed, change.shadowCommit == nil { continue }
            if before == nil {
                guard let document = try snapshot.document(change.key),
                    try isReadable(document, change.key, address)
                else { continue }
            }
            connection.sender?.limited.changes.add(
                LimitedChanges.Incoming(
                    key: change.key, address: address, before: before, isFromPeer: isFromPeer,
                    beforeLength: try before?.spelledLength(change.key, snapshot.names) ?? 0))
            guard let limited = connection.sender?.limited,
                limited.changes.count <= lengths.limitedChanges,
                limited.changeLength <= lengths.limitedChangeBytes
            else { return discardChanges(of: connection) }
        }
        let isLeft = connection.sender?.limited.changes.first != nil
        connection.sender?.limited.isJudging = isLeft
    }

    /// Discards the queued changes of a peer, which are too many; the peers reconcile instead.
    private func discardChanges(of connection: Connection) {
        connection.sender?.limited.discardChanges()
        if connection.sender?.isStreaming == true {
            restart(connection)
        } else {
            connection.sender?.isListOutdated = true
        }
    }

    /// Evaluates the queries of a peer on changed documents, until the slice is used up.
    ///
    /// Evaluation does not wait for credit: until it is done, former states of the documents are
    /// kept.
    func judgeChanges(_ connection: Connection) {
        guard let sender = connection.sender, sender.limited.isJudging, connection.session.isOpen
        else {
            return
        }
        connection.sender?.limited.isJudging = false
        fillBudget(of: connection)
        do throws(EngineError) {
            try judgeIncoming(sender.matcher, connection)
            if sender.isStreaming { try judgeRepairs(sender.matcher, connection) }
        } catch {
            guard error == .paused else { return failSending(connection, error) }
            connection.sender?.limited.isJudging = true
        }
    }

    /// Evaluates queries on changed documents; throws `.paused` if the slice is used up.
    func judgeIncoming(
        _ matcher: SubscriptionMatcher, _ connection: Connection
    ) throws(EngineError) {
        guard connection.sender?.limited.changes.first != nil else { return }
        let snapshot = context(of: connection).shown(news.snapshot)
        while let change = connection.sender?.limited.changes.first {
            try matcher.visit()
            try judge(change, matcher, snapshot, connection)
            connection.sender?.limited.changes.removeFirst()
        }
    }

    private func judge(
        _ change: LimitedChanges.Incoming, _ matcher: SubscriptionMatcher,
        _ snapshot: DocumentSnapshot, _ connection: Connection
    ) throws(EngineError) {
        let collection = change.address.collection
        let known = connection.sender?.limited.changes.changed[change.key]
        var entry = known ?? LimitedChanges.Change()
        let hasLimit = matcher.hasLimit(in: collection)
        if try matcher.matches(
            change.before, key: change.key, in: collection, snapshot.names)
        {
            entry.hasMatched = true
        }
        // With a LIMIT, any state between two batches may have been in the result.
        if hasLimit, known != nil, change.before != nil { entry.hasMatched = true }
        if !entry.hasMatched, !hasLimit {
            let matches = try matcher.matches(
                try snapshot.document(change.key), key: change.key, in: collection,
                snapshot.names)
            guard matches else { return }
        }
        if !change.isFromPeer { entry.isOnlyFromPeer = false }
        connection.sender?.limited.changes.set(entry, for: change.key)
    }
}

extension StoredDocument {
    /// Returns the length of the document in bytes with all field names spelled out.
    func spelledLength(_ key: [UInt8], _ names: NameTable) throws(EngineError) -> Int {
        try onDocument(key) { () throws(Malformed) in
            try read { bytes throws(Malformed) in
                try EncodedDocument(bytes).renamed(from: names, to: NameTable()).count
            }
        }
    }
}
