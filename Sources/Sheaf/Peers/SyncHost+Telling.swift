import SheafBytes
import SheafDocument
import SheafQuery
import SheafStorage
import SheafSync

/// What others want of this peer.
extension SyncHost {
    /// What is told on one connection.
    struct Telling {
        let generation: UInt64
        let matcher: SubscriptionMatcher
        /// The same without regard to rights; created when it is needed.
        var unfiltered: SubscriptionMatcher?
        /// The newest commit of the other side when it subscribed.
        let theirCommit: UInt64
        /// The other side has, or will have, all that matches up to this commit.
        var sent: CommitID = 0
        var acknowledged: CommitID = 0
        /// Whether `sent` says something yet.
        var isStreaming = false
        /// Whether commits are announced before they are sent.
        var isAnnouncing = false
        /// The next step goes from a cursor to now, all at once.
        var isBehind = false
        /// Documents that the other side needs whole in the next step.
        var whole: Set<DocumentAddress> = []
        /// The same when a commit here is durable: as they are now nobody can be sent them.
        var wholeLater: [(here: CommitID, address: DocumentAddress)] = []
        /// The state whose list was told.
        var compared: DocumentSnapshot?
        /// Whether more may be told by now than that list has.
        var isListOutdated = false
        /// What queries with LIMIT have, in that state, or when the last step was begun.
        var rankings: SubscriptionRankings?
        /// What is computed before the other side is answered.
        var preparation: Preparation?
        /// A step from a cursor to now whose rankings are not done yet.
        var catchingUp: CatchUp?
        /// Commits whose documents are not all evaluated yet.
        var judging = Judging()
        /// A step of which some is sent.
        var outgoing: Outgoing?
        /// When the other side is told how far the log is, if nothing else is said before.
        var echoDue: UInt64?
        /// Whether there is room for more of it at once.
        var goesOn = false
        /// The state that is kept only for a peer with limited rights.
        var limited = LimitedTelling()
        /// The newest of the documents in the list that was compared, and in the parts of it that were sent.
        var newest = NewestDocument()
        /// The commit, and the number, of parts that were sent before the last `want`.
        var parts: (commit: CommitID, number: UInt64?)?
        /// Documents that the other side has once it acknowledges their steps.
        var deliveries: [Delivery] = []
    }

    /// A long step that is sent bit by bit.
    struct Outgoing {
        let snapshot: DocumentSnapshot
        var documents: Documents
        /// What changed since this commit is sent, and of those in `whole` everything.
        let since: CommitID?
        var whole: Set<DocumentAddress> = []
        /// Whether a step before it had the same number: who has that one need not have this one.
        var isRepeated = false
        /// What queries with LIMIT have behind the step, and had before.
        var rankings: SubscriptionRankings?
        /// How many bytes of documents the step has by now.
        var length = 0
        /// The number of a step for a peer with limited rights; nil where it is that of the commit.
        var number: UInt64?
        /// Deleted documents that such a peer knows.
        var knownDeletions: Set<[UInt8]> = []
        /// The newest of its documents, and of those that were compared.
        var newest = NewestDocument()
        /// Whether it is a part of the wanted documents: then the other side continues to compare.
        var isPart = false

        enum Documents {
            /// These, from one on.
            case keys([[UInt8]], next: Int)
            /// All that match, collection by collection, from a key on.
            case all(collections: ArraySlice<String>, from: [UInt8]?)
        }
    }

    // MARK: What is sent

    /// Sends what there is to be sent, as long as there is room.
    ///
    /// Of a long step it is one part: what has come from elsewhere meanwhile has its turn before the next one,
    /// and who gets the part can begin with it.
    func tell(_ link: Link) {
        link.telling?.goesOn = false
        fillBudget(of: link)
        guard let telling = link.telling, telling.isStreaming || telling.outgoing != nil,
            link.session.isOpen
        else { return }
        do throws(EngineError) {
            while link.session.hasRoom() {
                if link.telling?.outgoing != nil {
                    try sendPart(link)
                    if link.telling?.outgoing != nil {
                        link.telling?.goesOn = true
                        break
                    }
                } else if link.telling?.isStreaming != true {
                    break
                } else if try !(link.isLimited ? beginLimitedStep(link) : beginStep(link)) {
                    break
                }
            }
        } catch {
            guard error == .paused else { return failTelling(link, error) }
            link.telling?.goesOn = true
        }
        link.session.sendSegment()
        noteSyncedIfIdle(link)
        handle(link)
        reportNewSite()
    }

    /// Begins the next step, or sends commits; false where there is nothing to be told.
    private func beginStep(_ link: Link) throws(EngineError) -> Bool {
        guard let telling = link.telling else { return false }
        let newest = news.snapshot.log.commit
        guard telling.isBehind || telling.sent < newest || !telling.whole.isEmpty else {
            return false
        }
        if try announce(on: link) { return true }
        if !telling.isBehind, telling.whole.isEmpty, !telling.matcher.isRanked,
            let commits = news.commits(after: telling.sent), try send(commits, on: link)
        {
            return true
        }
        return try beginCatchingUp(link, telling)
    }

    /// Sends commits one by one; false where one of them cannot be told by itself any more.
    private func send(
        _ commits: ArraySlice<News.Commit>, on link: Link
    ) throws(EngineError) -> Bool {
        let newest = news.snapshot.log.commit
        var isEcho = !commits.isEmpty
        for commit in commits {
            guard link.session.hasRoom() else { return true }
            guard let documents = try shipped(commit, on: link) else { return false }
            if documents.isEmpty {
                // The next commit may take the rest of this turn, and this one would be evaluated again.
                link.telling?.judging.done[commit.number] = []
                isEcho = isEcho && isTheirs(commit, link)
                continue
            }
            try ship(
                documents, of: commit.number, stamp: commit.changes.first?.stamp, on: link)
            noteDelivery(of: commit.number, with: commit.number, on: link)
            link.telling?.sent = commit.number
            link.telling?.echoDue = nil
            isEcho = true
        }
        // The other side should know that it has everything, also where the last commits changed nothing
        // that it wants; what came from it, it knows itself, and so that can wait for something to say.
        if let sent = link.telling?.sent, sent < newest {
            link.telling?.sent = newest
            link.telling?.judging = Judging()
            if isEcho, commits.last?.number == newest {
                sayHowFarLater(link)
            } else {
                sayHowFar(link)
            }
        }
        return true
    }

    /// So long a peer may not know that what it wrote itself is all that there is.
    private static let echoNanoseconds: UInt64 = 100_000_000

    /// Says to which commit the other side has everything.
    private func sayHowFar(_ link: Link) {
        guard let telling = link.telling else { return }
        link.telling?.echoDue = nil
        if telling.isAnnouncing {
            link.session.announce([], of: telling.sent)
        } else {
            link.session.beginCommit(telling.sent, stamp: nil)
            link.session.endCommit()
        }
    }

    /// Has it said when it is due, unless something else says it before.
    func sayHowFarLater(_ link: Link) {
        guard link.telling?.echoDue == nil else { return }
        link.telling?.echoDue = now + Self.echoNanoseconds
    }

    /// Says it where it is due.
    func sayHowFarIfDue(_ link: Link) {
        guard let telling = link.telling, let due = telling.echoDue, due <= now else { return }
        link.telling?.echoDue = nil
        // The end of a step says it, too.
        guard telling.isStreaming, telling.outgoing == nil, link.session.isOpen else { return }
        sayHowFar(link)
        link.session.sendSegment()
    }

    private func shipped(
        _ commit: News.Commit, on link: Link
    ) throws(EngineError) -> [ShippedDocument]? {
        guard let concerning = try concerning(commit, on: link) else { return nil }
        let snapshot = news.snapshot
        var documents: [ShippedDocument] = []
        for document in concerning {
            documents.append(
                try snapshot.shipped(
                    document.written, document.key, document.address,
                    isWhole: !document.hasMatched || isRefused(document.address, on: link)))
        }
        return documents
    }

    /// Whether a commit was received on this connection: then it is not sent back, unless the peer may have removed
    /// its documents since.
    ///
    /// The site of the commit does not decide: a peer can name the site of another store in its hello.
    func isTheirs(_ commit: News.Commit, _ link: Link) -> Bool {
        guard let telling = link.telling, let change = commit.changes.first,
            let origin = change.origin
        else { return false }
        return change.connection == link.drawn && origin.commit > telling.theirCommit
    }

    /// A document of a commit that the other side is told of.
    struct Concerning {
        let key: [UInt8]
        let address: DocumentAddress
        let written: DocumentSnapshot.Written
        /// Whether it matched before the commit, so that the other side has it.
        let hasMatched: Bool
    }

    /// What a commit has changed that concerns the other side; nothing where that is not known any more.
    func concerning(
        _ commit: News.Commit, on link: Link
    ) throws(EngineError) -> [Concerning]? {
        guard let telling = link.telling else { return nil }
        guard !isTheirs(commit, link) else { return [] }
        if let known = telling.judging.done[commit.number] { return known }
        var judged = Judging.Commit(number: commit.number, snapshot: news.snapshot)
        if let begun = telling.judging.begun, begun.number == commit.number { judged = begun }
        link.telling?.judging.begun = nil
        while judged.next < commit.changes.count {
            let change = commit.changes[judged.next]
            do throws(EngineError) {
                try noteUnsendable(change, of: commit.number, judged.snapshot, on: link)
                let (isKnown, found) = try concerning(
                    change, of: commit.number, judged.snapshot, telling.matcher, link)
                guard isKnown else { return nil }
                if let found { judged.found.append(found) }
            } catch {
                if error == .paused { link.telling?.judging.begun = judged }
                throw error
            }
            judged.next += 1
        }
        return judged.found
    }

    /// Returns whether one change is known, and the document where it concerns the other side.
    private func concerning(
        _ change: CommitFeed.Change, of commit: CommitID, _ snapshot: DocumentSnapshot,
        _ matcher: SubscriptionMatcher, _ link: Link
    ) throws(EngineError) -> (isKnown: Bool, Concerning?) {
        let key = change.key.bytes
        guard let address = snapshot.address(of: key), matcher.asks(for: address.collection) else {
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
            try maySend(link, written.document, before: change.before, key, address, snapshot)
        else { return (true, nil) }
        return (
            true,
            Concerning(key: key, address: address, written: written, hasMatched: hasMatched)
        )
    }

    /// What is evaluated of commits that are not sent yet.
    struct Judging {
        struct Commit {
            let number: CommitID
            let snapshot: DocumentSnapshot
            /// The first change that is left.
            var next = 0
            var found: [Concerning] = []
        }

        var begun: Commit?
        /// The commits that are done, where several are announced together or concern the other side in nothing.
        var done: [CommitID: [Concerning]] = [:]
    }
}
