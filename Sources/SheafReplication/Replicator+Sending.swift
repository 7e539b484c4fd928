import SheafBytes
import SheafDocument
import SheafEngine
import SheafQuery
import SheafStorage
import SheafSync

/// The sender: the subscriptions of remote peers, and the documents sent for them.
extension Replicator {
    /// Sends pending documents while the peer has credit.
    ///
    /// Of a long batch it sends one part: events from other peers are handled before the next part,
    /// and the receiver can begin to process the part.
    func announceChanges(_ connection: Connection) {
        connection.sender?.hasMore = false
        connection.sender?.isAwake = false
        fillBudget(of: connection)
        guard let sender = connection.sender, sender.isStreaming || sender.outgoing != nil,
            connection.session.isOpen
        else { return }
        do throws(EngineError) {
            while connection.session.hasRoom() {
                if connection.sender?.outgoing != nil {
                    try sendPart(connection)
                    if connection.sender?.outgoing != nil {
                        connection.sender?.hasMore = true
                        break
                    }
                } else if connection.sender?.isStreaming != true {
                    break
                } else if try
                    !(connection.isLimited ? beginLimitedStep(connection) : beginStep(connection))
                {
                    break
                }
            }
        } catch {
            guard error == .paused else { return failSending(connection, error) }
            connection.sender?.hasMore = true
        }
        connection.session.sendSegment()
        statistics.documentsSent += connection.exchange.drainSentCount()
        recordSyncedIfIdle(connection)
    }

    /// Begins a batch or sends commits; returns false if none remain or the peers must reconcile.
    private func beginStep(_ connection: Connection) throws(EngineError) -> Bool {
        guard let sender = connection.sender else { return false }
        let newest = news.snapshot.log.commit
        guard sender.isBehind || sender.sent < newest || !sender.complete.isEmpty else {
            return false
        }
        if try announce(on: connection) { return true }
        if !sender.isBehind, sender.complete.isEmpty, !sender.matcher.isRanked,
            let commits = news.commits(after: sender.sent), try send(commits, on: connection)
        {
            return true
        }
        return try beginCatchingUp(connection, sender)
    }

    /// Sends commits one by one; returns false if one of them cannot be sent separately.
    private func send(
        _ commits: ArraySlice<News.Commit>, on connection: Connection
    ) throws(EngineError) -> Bool {
        let newest = news.snapshot.log.commit
        var isEcho = !commits.isEmpty
        for commit in commits {
            guard connection.session.hasRoom() else { return true }
            guard let documents = try shipped(commit, on: connection) else { return false }
            if documents.isEmpty {
                // The next commit may use up the slice; this one would then be evaluated again.
                connection.sender?.judging.done[commit.number] = []
                isEcho = isEcho && isFromPeer(commit, connection)
                continue
            }
            try ship(
                documents, of: commit.number, stamp: commit.changes.first?.stamp, on: connection)
            connection.sender?.recordDelivery(of: commit.number, with: commit.number)
            connection.sender?.sent = commit.number
            connection.sender?.echoDue = nil
            isEcho = true
        }
        // The peer must receive its position even if the last commits contain nothing for it. If
        // they came from the peer, the position can wait for the next batch.
        if let sent = connection.sender?.sent, sent < newest {
            connection.sender?.sent = newest
            connection.sender?.judging = Judging()
            if isEcho, commits.last?.number == newest {
                connection.sender?.schedulePosition(at: now)
            } else {
                sendPosition(connection)
            }
        }
        return true
    }

    /// Sends the replication position, up to which all documents were sent.
    private func sendPosition(_ connection: Connection) {
        guard let sender = connection.sender else { return }
        connection.sender?.echoDue = nil
        if sender.isAnnouncing {
            connection.session.announce([], of: sender.sent)
        } else {
            connection.session.beginCommit(sender.sent, stamp: nil)
            connection.session.endCommit()
        }
    }

    /// Sends the replication position if it is due.
    func sendPositionIfDue(_ connection: Connection) {
        guard connection.sender?.beginPosition(at: now) == true, connection.session.isOpen else {
            return
        }
        sendPosition(connection)
        connection.session.sendSegment()
    }

    private func shipped(
        _ commit: News.Commit, on connection: Connection
    ) throws(EngineError) -> [ShippedDocument]? {
        guard let concerning = try concerning(commit, on: connection) else { return nil }
        let snapshot = news.snapshot
        var documents: [ShippedDocument] = []
        for document in concerning {
            documents.append(
                try snapshot.shipped(
                    document.written, document.key, document.address,
                    isComplete: !document.hasMatched || isRefused(document.address, on: connection))
            )
        }
        return documents
    }

    /// Whether a commit was received on this connection, so that it is not sent back.
    ///
    /// Commits from before the subscription are excluded, since the peer may have removed their
    /// documents. The site of the commit does not decide: a peer can name another store's site in
    /// its hello.
    func isFromPeer(_ commit: News.Commit, _ connection: Connection) -> Bool {
        guard let sender = connection.sender, let change = commit.changes.first,
            let origin = change.origin
        else { return false }
        return change.connection == connection.nonce && origin.commit > sender.remoteCommit
    }

    /// Returns the documents of a commit that must be sent; nil if its changes are unknown.
    func concerning(
        _ commit: News.Commit, on connection: Connection
    ) throws(EngineError) -> [Concerning]? {
        guard let sender = connection.sender else { return nil }
        guard !isFromPeer(commit, connection) else { return [] }
        if let known = sender.judging.done[commit.number] { return known }
        var judged = Judging.Commit(number: commit.number, snapshot: news.snapshot)
        if let begun = sender.judging.openCommit, begun.number == commit.number { judged = begun }
        connection.sender?.judging.openCommit = nil
        while judged.next < commit.changes.count {
            let change = commit.changes[judged.next]
            do throws(EngineError) {
                try recordUnsendable(change, of: commit.number, judged.snapshot, on: connection)
                let (isKnown, found) = try concerning(
                    change, of: commit.number, judged.snapshot, sender.matcher, connection)
                guard isKnown else { return nil }
                if let found { judged.found.append(found) }
            } catch {
                if error == .paused { connection.sender?.judging.openCommit = judged }
                throw error
            }
            judged.next += 1
        }
        return judged.found
    }

    /// Returns whether a change is known, and its document if that must be sent.
    private func concerning(
        _ change: CommitFeed.Change, of commit: CommitID, _ snapshot: DocumentSnapshot,
        _ matcher: SubscriptionMatcher, _ connection: Connection
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
            try connection.access.maySend(
                written.document, before: change.before, key, address, snapshot.names)
        else { return (true, nil) }
        return (
            true,
            Concerning(key: key, address: address, written: written, hasMatched: hasMatched)
        )
    }
}
