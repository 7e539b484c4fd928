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
        let limited = allLinks.filter { $0.isLimited && $0.sender != nil }
        guard !limited.isEmpty else { return }
        let changes: [FreshChange]
        do throws(EngineError) { changes = try freshChanges() } catch {
            for link in limited { failSending(link, error) }
            return
        }
        for link in limited {
            link.sender?.sent = news.snapshot.log.commit
            do throws(EngineError) { try collect(changes, for: link) } catch {
                failSending(link, error)
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
            if let place = RecordPointer(value), place.position >= end { others.append(Array(key)) }
            return true
        }
        let fresh = Set(news.fresh.map(\.number))
        for key in others {
            if known.contains(key), try areAll(fresh, commitsOf: key, since: before) { continue }
            found.append(FreshChange(key: key, before: try before.document(key)))
        }
        return found
    }

    /// Whether `fresh` contains every commit that wrote a document since a snapshot.
    private func areAll(
        _ fresh: Set<CommitID>, commitsOf key: [UInt8], since before: DocumentSnapshot
    ) throws(EngineError) -> Bool {
        let snapshot = news.snapshot
        guard before.log.commit >= snapshot.log.foldedThrough,
            let newest = try snapshot.newestCommit(of: key),
            let others = try snapshot.commits(
                of: key, since: before.log.commit, most: fresh.count)
        else { return false }
        return fresh.contains(newest) && others.allSatisfy(fresh.contains)
    }

    /// Collects the changed documents that the peer may read; its queries are evaluated later.
    func collect(_ changes: [FreshChange], for link: Connection) throws(EngineError) {
        guard let telling = link.sender, let isReadable = readFilter(link),
            telling.isStreaming || telling.compared != nil || telling.preparation != nil
        else { return }
        let snapshot = shown(news.snapshot, to: link)
        for change in changes {
            let isShadowed = snapshot.shadows[change.key] != nil
            guard let address = snapshot.address(of: change.key),
                telling.matcher.selects(for: address.collection),
                isShadowed || change.shadowCommit == nil
            else { continue }
            let isTheirs =
                change.commit.map { self.isTheirs($0, link) }
                ?? change.shadowCommit.map { $0 > telling.theirCommit } ?? false
            guard !isTheirs || telling.matcher.isRanked else { continue }
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
            link.sender?.limited.changes.add(
                LimitedChanges.Incoming(
                    key: change.key, address: address, before: before, isTheirs: isTheirs,
                    beforeLength: try before?.spelledLength(change.key, snapshot.names) ?? 0))
            guard let limited = link.sender?.limited,
                limited.changes.count <= lengths.limitedChanges,
                limited.changeLength <= lengths.limitedChangeBytes
            else { return discardChanges(of: link) }
        }
        let isLeft = link.sender?.limited.changes.first != nil
        link.sender?.limited.isJudging = isLeft
    }

    /// Discards the queued changes of a peer, which are too many; the peers reconcile instead.
    private func discardChanges(of link: Connection) {
        link.sender?.limited.discardChanges()
        if link.sender?.isStreaming == true {
            restart(link)
        } else {
            link.sender?.isListOutdated = true
        }
    }

    /// Evaluates the queries of a peer on changed documents, until the slice is used up.
    ///
    /// Evaluation does not wait for credit: until it is done, former states of the documents are
    /// kept.
    func judgeChanges(_ link: Connection) {
        guard let telling = link.sender, telling.limited.isJudging, link.session.isOpen else {
            return
        }
        link.sender?.limited.isJudging = false
        fillBudget(of: link)
        do throws(EngineError) {
            try judgeIncoming(telling.matcher, link)
            if telling.isStreaming { try judgeCorrections(telling.matcher, link) }
        } catch {
            guard error == .paused else { return failSending(link, error) }
            link.sender?.limited.isJudging = true
        }
    }

    /// Evaluates queries on changed documents; throws `.paused` if the slice is used up.
    func judgeIncoming(
        _ matcher: SubscriptionMatcher, _ link: Connection
    ) throws(EngineError) {
        guard link.sender?.limited.changes.first != nil else { return }
        let snapshot = shown(news.snapshot, to: link)
        while let change = link.sender?.limited.changes.first {
            try matcher.visit()
            try judge(change, matcher, snapshot, link)
            link.sender?.limited.changes.removeFirst()
        }
    }

    private func judge(
        _ change: LimitedChanges.Incoming, _ matcher: SubscriptionMatcher,
        _ snapshot: DocumentSnapshot, _ link: Connection
    ) throws(EngineError) {
        let collection = change.address.collection
        let known = link.sender?.limited.changes.changed[change.key]
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
        if !change.isTheirs { entry.isOnlyTheirs = false }
        link.sender?.limited.changes.set(entry, for: change.key)
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
