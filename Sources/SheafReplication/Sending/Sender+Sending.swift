import SheafBytes
import SheafDocument
import SheafEngine
import SheafQuery
import SheafStorage
import SheafSync

/// Commits, sent one by one while the peer has credit.
extension Sender {
    /// Sends pending documents while the peer has credit.
    ///
    /// Of a long batch it sends one part: events from other peers are handled before the next part,
    /// and the receiver can begin to process the part.
    mutating func send(
        _ context: PeerContext, on exchange: inout DocumentExchange
    ) throws(EngineError) {
        (hasMore, isAwake) = (false, false)
        guard isStreaming || outgoing != nil, exchange.session.isOpen else { return }
        do throws(EngineError) {
            while hasRoom(context, on: &exchange) {
                if outgoing != nil {
                    try sendPart(context, on: &exchange)
                    if outgoing != nil {
                        hasMore = true
                        break
                    }
                } else if !isStreaming {
                    break
                } else if try
                    !(context.isLimited
                    ? beginLimitedStep(context, on: &exchange) : beginStep(context, on: &exchange))
                {
                    break
                }
            }
        } catch {
            guard error == .paused else { throw error }
            hasMore = true
        }
        exchange.session.sendSegment()
        recordSyncedIfIdle(context)
    }

    /// Whether the peer has room for the next part, or for commits.
    private func hasRoom(
        _ context: PeerContext, on exchange: inout DocumentExchange
    ) -> Bool {
        let isComplete = outgoing != nil && outgoing?.since == nil
        let most = isComplete ? context.limits.completeInFlight : nil
        return exchange.session.hasRoom(expandedInFlight: most)
    }

    /// Begins a batch or sends commits; returns false if none remain or the peers must reconcile.
    private mutating func beginStep(
        _ context: PeerContext, on exchange: inout DocumentExchange
    ) throws(EngineError) -> Bool {
        guard isBehind || sent < context.snapshot.log.commit || !complete.isEmpty else {
            return false
        }
        if try announce(context, on: &exchange) { return true }
        if !isBehind, complete.isEmpty, !matcher.isRanked,
            let commits = context.recent.commits(after: sent),
            try send(commits, context, on: &exchange)
        {
            return true
        }
        return try beginCatchingUp(context, on: &exchange)
    }

    /// Sends commits one by one; returns false if one of them cannot be sent separately.
    private mutating func send(
        _ commits: ArraySlice<RecentCommits.Commit>, _ context: PeerContext,
        on exchange: inout DocumentExchange
    ) throws(EngineError) -> Bool {
        let newest = context.snapshot.log.commit
        var isEcho = !commits.isEmpty
        for commit in commits {
            guard exchange.session.hasRoom() else { return true }
            guard let documents = try shipped(commit, context) else { return false }
            if documents.isEmpty {
                // The next commit may use up the slice; this one would then be evaluated again.
                judging.done[commit.number] = []
                isEcho = isEcho && isFromPeer(commit, context)
                continue
            }
            try ship(
                documents, of: commit.number, stamp: commit.changes.first?.stamp, context,
                on: &exchange)
            recordDelivery(of: commit.number, with: commit.number)
            sent = commit.number
            echoDue = nil
            isEcho = true
        }
        // The peer must receive its position even if the last commits contain nothing for it. If
        // they came from the peer, the position can wait for the next batch.
        if sent < newest {
            sent = newest
            judging = Judging()
            if isEcho, commits.last?.number == newest {
                schedulePosition(at: context.now)
            } else {
                sendPosition(on: &exchange)
            }
        }
        return true
    }

    /// Sends the replication position, up to which all documents were sent.
    private mutating func sendPosition(on exchange: inout DocumentExchange) {
        echoDue = nil
        if isAnnouncing {
            exchange.session.announce([], of: sent)
        } else {
            exchange.session.beginCommit(sent, stamp: nil)
            exchange.session.endCommit()
        }
    }

    /// Sends the replication position if it is due.
    mutating func sendPositionIfDue(at now: UInt64, on exchange: inout DocumentExchange) {
        guard beginPosition(at: now), exchange.session.isOpen else { return }
        sendPosition(on: &exchange)
        exchange.session.sendSegment()
    }

    private mutating func shipped(
        _ commit: RecentCommits.Commit, _ context: PeerContext
    ) throws(EngineError) -> [ShippedDocument]? {
        guard let concerning = try concerning(commit, context) else { return nil }
        var documents: [ShippedDocument] = []
        for document in concerning {
            documents.append(
                try context.snapshot.shipped(
                    document.written, document.key, document.address,
                    isComplete: !document.hasMatched || context.isRefused(document.address)))
        }
        return documents
    }

    /// Whether a commit was received on this connection, so that it is not sent back.
    func isFromPeer(_ commit: RecentCommits.Commit, _ context: PeerContext) -> Bool {
        context.isFromPeer(commit, after: remoteCommit)
    }

    /// Returns the documents of a commit that must be sent; nil if its changes are unknown.
    mutating func concerning(
        _ commit: RecentCommits.Commit, _ context: PeerContext
    ) throws(EngineError) -> [Concerning]? {
        guard !isFromPeer(commit, context) else { return [] }
        if let known = judging.done[commit.number] { return known }
        var judged = Judging.Commit(number: commit.number, snapshot: context.snapshot)
        if let begun = judging.openCommit, begun.number == commit.number { judged = begun }
        judging.openCommit = nil
        while judged.next < commit.changes.count {
            let change = commit.changes[judged.next]
            do throws(EngineError) {
                try recordUnsendable(change, of: commit.number, judged.snapshot, context)
                let (isKnown, found) = try concerning(
                    change, of: commit.number, judged.snapshot, context)
                guard isKnown else { return nil }
                if let found { judged.found.append(found) }
            } catch {
                if error == .paused { judging.openCommit = judged }
                throw error
            }
            judged.next += 1
        }
        return judged.found
    }

    /// Returns whether a change is known, and its document if that must be sent.
    private func concerning(
        _ change: CommitFeed.Change, of commit: CommitID, _ snapshot: DocumentSnapshot,
        _ context: PeerContext
    ) throws(EngineError) -> (isKnown: Bool, Concerning?) {
        let key = change.key.bytes
        guard let address = snapshot.address(of: key), matcher.selects(for: address.collection)
        else {
            return (true, nil)
        }
        try matcher.visit()
        let hasMatched = try matcher.matches(
            change.before, key: key, in: address.collection, snapshot.names)
        let (isKnown, written) = try snapshot.written(key, by: commit)
        guard isKnown else { return (false, nil) }
        guard let written else { return (true, nil) }
        let matches = try matcher.matches(
            written.document, key: key, in: address.collection, snapshot.names)
        guard matches || hasMatched,
            try context.access.maySend(
                written.document, before: change.before, key, address, snapshot.names)
        else { return (true, nil) }
        return (
            true,
            Concerning(key: key, address: address, written: written, hasMatched: hasMatched)
        )
    }
}
