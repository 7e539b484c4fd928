import SheafBytes
package import SheafDocument
import SheafEngine
import SheafQuery
import SheafStorage
import SheafSync

/// The sender: the subscriptions of remote peers, and the documents sent for them.
extension Replicator {
    /// The sender's state of one connection.
    struct Sender {
        let generation: UInt64
        let matcher: SubscriptionMatcher
        /// A matcher that ignores rights, created on first use.
        var unfiltered: SubscriptionMatcher?
        /// The newest remote commit at the time of the subscription.
        let remoteCommit: UInt64
        /// The local commit up to which all matching documents were sent or are being sent.
        var sent: CommitID = 0
        var acknowledged: CommitID = 0
        /// Whether `sent` is valid.
        var isStreaming = false
        /// Whether commits are announced instead of being sent.
        var isAnnouncing = false
        /// Whether the next batch contains all changes since the cursor of the subscription.
        var isBehind = false
        /// Documents that the next batch must contain complete.
        package var complete: Set<DocumentAddress> = []
        /// Documents to add to `complete` once a local commit is durable.
        var completeLater: [(localCommit: CommitID, address: DocumentAddress)] = []
        /// The snapshot of the version list that was sent.
        var compared: DocumentSnapshot?
        /// Whether documents may have become visible to the peer since that list.
        var isListOutdated = false
        /// Results of queries with LIMIT, in that snapshot or when the last batch began.
        var rankings: SubscriptionRankings?
        /// The evaluation that precedes the answer to the peer.
        var preparation: Preparation?
        /// A catch-up batch whose rankings are not complete.
        var catchingUp: CatchUp?
        /// The evaluation of commits that are not sent yet.
        var judging = Judging()
        /// A partially sent batch.
        var outgoing: Outgoing?
        /// The time at which the replication position is sent, unless a batch is sent before.
        var echoDue: UInt64?
        /// Whether sending continues in the next iteration.
        var hasMore = false
        /// State that is needed only for a peer with limited rights.
        var limited = LimitedSender()
        /// The newest document of the reconciled list and of its parts that were sent.
        var newestDocument = NewestDocument()
        /// The commit and number of the parts that were sent before the last `want`.
        var parts: (commit: CommitID, number: UInt64?)?
        /// Deliveries that the peer has not acknowledged.
        var deliveries: [Delivery] = []
    }

    /// A long batch that is sent in parts.
    package struct Outgoing {
        let snapshot: DocumentSnapshot
        package var documents: Documents
        /// The commit after which changes are sent; nil if all documents are sent complete.
        let since: CommitID?
        package var complete: Set<DocumentAddress> = []
        /// Whether an earlier batch, to which an acknowledgment may refer, had the same number.
        var isRepeated = false
        /// Results of queries with LIMIT after the batch, and before it.
        var rankings: SubscriptionRankings?
        /// Number of document bytes already sent in this batch.
        var length = 0
        /// The number of a batch for a peer with limited rights; nil for other peers.
        var number: UInt64?
        /// Keys of deleted documents that such a peer could read.
        var knownDeletions: Set<[UInt8]> = []
        /// The newest document of the batch and of the reconciled list.
        var newestDocument = NewestDocument()
        /// Whether the peer continues to reconcile after this part of the wanted documents.
        var isPart = false

        package enum Documents {
            /// The documents with these keys, starting at index `next`.
            case keys([[UInt8]], next: Int)
            /// All matching documents by collection, starting at a key.
            case all(collections: ArraySlice<String>, from: [UInt8]?)
        }
    }

    // MARK: Sending

    /// Sends pending documents while the peer has credit.
    ///
    /// Of a long batch it sends one part: events from other peers are handled before the next part,
    /// and the receiver can begin to process the part.
    func announceChanges(_ connection: Connection) {
        connection.sender?.hasMore = false
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
        recordSyncedIfIdle(connection)
        handle(connection)
        reportNewSite()
    }

    /// Begins the next batch or sends commits; returns false if there is nothing to send.
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
            recordDelivery(of: commit.number, with: commit.number, on: connection)
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
                schedulePosition(connection)
            } else {
                sendPosition(connection)
            }
        }
        return true
    }

    /// Delay before a position is sent that only the peer's own commits advanced, in nanoseconds.
    private static let echoNanoseconds: UInt64 = 100_000_000

    /// Sends the replication position, up to which the peer has everything.
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

    /// Schedules the replication position to be sent, unless a batch is sent before.
    func schedulePosition(_ connection: Connection) {
        guard connection.sender?.echoDue == nil else { return }
        connection.sender?.echoDue = now + Self.echoNanoseconds
    }

    /// Sends the replication position if it is due.
    func sendPositionIfDue(_ connection: Connection) {
        guard let sender = connection.sender, let due = sender.echoDue, due <= now else { return }
        connection.sender?.echoDue = nil
        // The end of a batch contains the position, too.
        guard sender.isStreaming, sender.outgoing == nil, connection.session.isOpen else { return }
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

    /// A document of a commit that must be sent to the peer.
    struct Concerning {
        package let key: [UInt8]
        package let address: DocumentAddress
        let written: DocumentSnapshot.Written
        /// Whether it matched before the commit, so that the peer has it.
        let hasMatched: Bool
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
            try maySend(connection, written.document, before: change.before, key, address, snapshot)
        else { return (true, nil) }
        return (
            true,
            Concerning(key: key, address: address, written: written, hasMatched: hasMatched)
        )
    }

    /// The evaluation of commits that are not sent yet.
    struct Judging {
        struct Commit {
            let number: CommitID
            let snapshot: DocumentSnapshot
            /// Index of the first change that is not evaluated.
            var next = 0
            var found: [Concerning] = []
        }

        var openCommit: Commit?
        /// Evaluated commits that are announced together, or of which nothing is sent.
        var done: [CommitID: [Concerning]] = [:]
    }
}
