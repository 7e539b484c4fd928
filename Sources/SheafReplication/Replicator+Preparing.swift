import SheafDocument
import SheafEngine
import SheafQuery
import SheafStatements
import SheafStorage
import SheafSync

/// Evaluation of queries before a peer is answered, in slices.
///
/// The evaluation for all peers shares one slice per iteration of the replication thread. When the
/// slice is used up, a peer continues in a later iteration, after the peers that follow it.
extension Replicator {
    /// The parsed queries of a subscription.
    struct SubscriptionReading {
        package var queries: [SubscriptionQuery] = []
        var tally = SubscriptionTally()
    }

    /// The evaluation of one snapshot before the peer is answered.
    struct Preparation {
        enum Purpose {
            /// The version list for a reconciliation.
            case list(VersionListing)
            /// The documents to send; `keys` lists them if the subscription has a LIMIT.
            case documents(Want.Documents, keys: [[UInt8]])
        }

        let snapshot: DocumentSnapshot
        var purpose: Purpose
        /// The scan that ranks documents; nil when it is done.
        var ranking: RankingScan?
        var scan: MatchScan
        /// The scan for wanted documents that this peer may not send.
        var unsendable: DocumentScan
    }

    // MARK: Slices

    /// Continues unfinished work until the slice is used up.
    ///
    /// It starts after the connection on which the last slice was used up.
    func continueSending() {
        slice.refill()
        // In most iterations there is no unfinished work.
        guard connections.values.contains(where: { $0.isUnfinished || $0.delayed != nil }) else {
            return
        }
        let links = allLinks
        let first = links.firstIndex { $0.number > lastSlicedConnection } ?? 0
        for link in links[first...] + links[..<first] {
            let wasOver = slice.isOver
            begin(link)
            prepare(link)
            judgeChanges(link)
            if link.sender?.goesOn == true { announceChanges(link) }
            resolveDisputed(on: link)
            if link.files.isCheckingProofs { answerProofs(on: link) }
            handle(link)
            if slice.isOver, !wasOver { lastSlicedConnection = link.number }
        }
    }

    // MARK: Subscriptions

    /// Activates a permitted subscription: parses its queries, then answers pending requests.
    func begin(_ link: Connection) {
        guard let delayed = link.delayed, delayed.turn <= now, link.session.isOpen else { return }
        let request = delayed.request
        guard let queries = read(link, delayed) else { return }
        link.delayed = nil
        // A peer that subscribes again lacks documents, so both sides send from then on.
        link.receiver.announced.isAnnouncing = false
        link.sender = Sender(
            generation: request.generation,
            matcher: SubscriptionMatcher(
                queries, self.queries, meter: meter(of: link), where: readFilter(link)),
            theirCommit: request.commit)
        refusals.beginAnew(link.session.remote?.peerKey ?? [])
        guard !link.isLimited else {
            beginLimited(link, request)
            return answerDelayed(delayed, of: link)
        }
        if let cursor = request.cursor { begin(link, from: cursor, request) }
        if let asked = delayed.questionSnapshot { listMatches(link, in: asked) }
        if let (documents, snapshot) = delayed.wanted {
            prepareWanted(link, documents, in: snapshot)
        }
    }

    /// Parses the queries of a subscription; returns nil if that is incomplete or has failed.
    private func read(_ link: Connection, _ delayed: Delayed) -> [SubscriptionQuery]? {
        let (request, meter) = (delayed.request, meter(of: link))
        let isRestricted = queries.parameters.values.restrictsSubscriptions
        var reading = delayed.reading
        link.delayed?.reading = SubscriptionReading()
        fillBudget(of: link)
        var text = ""
        do throws(QueryError) {
            while reading.queries.count < request.queries.count {
                guard !meter.isTurnOver else {
                    link.delayed?.reading = reading
                    return nil
                }
                let query = request.queries[reading.queries.count]
                text = query.text
                // Parsing and planning are charged, too.
                meter.begin(limit: SyncLimits.evaluationUnitsOnDocument)
                try meter.charge(32 * query.length)
                let parsed = try SubscriptionQuery(
                    query, queries, isRestricted: isRestricted)
                try reading.tally.add(parsed)
                reading.queries.append(parsed)
            }
        } catch {
            link.delayed = nil
            fail(link, rejecting: text, because: error)
            return nil
        }
        return reading.queries
    }

    private func begin(_ link: Connection, from cursor: Cursor, _ request: Subscribe) {
        guard cursor.log == log, cursor.commit <= news.snapshot.log.commit,
            cursor.commit >= news.reapedThrough,
            corrections.forgottenThrough.map({ cursor.commit > $0 }) ?? true,
            isCurrent(upTo: cursor, link),
            // Rankings at the cursor are not recorded, so the peers must reconcile.
            link.sender?.matcher.isRanked == false
        else {
            link.session.restart()
            return
        }
        link.sender?.sent = cursor.commit
        link.sender?.isStreaming = true
        link.sender?.isBehind = true
        let corrections = outstandingCorrections(of: link)
        link.sender?.complete = corrections.union(request.complete)
        announceChanges(link)
    }

    // MARK: Reconciliation

    func listMatches(_ link: Connection, in snapshot: DocumentSnapshot) {
        link.delayed?.questionSnapshot = snapshot
        guard let matcher = link.sender?.matcher else { return }
        let snapshot = visibleSnapshot(snapshot, link)
        link.sender?.limited.discardChanges()
        link.sender?.compared = snapshot
        link.sender?.newestDocument = NewestDocument()
        link.sender?.parts = nil
        link.sender?.preparation = Preparation(
            snapshot: snapshot, purpose: .list(VersionListing()), ranking: RankingScan(snapshot),
            scan: MatchScan(versionsIn: snapshot, matcher), unsendable: DocumentScan())
        prepare(link)
    }

    func prepareWanted(_ link: Connection, _ documents: Want.Documents, in newest: DocumentSnapshot)
    {
        if case .part(let addresses) = documents {
            return sendWantedPart(of: addresses, on: link)
        }
        link.delayed?.wanted = (documents, newest)
        guard let telling = link.sender else { return }
        // A requested list is complete here: the session refuses a `want` before the end of the
        // list.
        let compared = telling.compared
        let snapshot = compared ?? visibleSnapshot(newest, link)
        if compared == nil { link.sender?.limited.discardChanges() }
        link.sender?.compared = nil
        if compared == nil { link.sender?.newestDocument = NewestDocument() }
        link.sender?.preparation = Preparation(
            snapshot: snapshot, purpose: .documents(documents, keys: []),
            ranking: compared == nil ? RankingScan(snapshot) : nil,
            scan: MatchScan(snapshot, telling.matcher.collections),
            unsendable: DocumentScan(telling.matcher.collections))
        prepare(link)
    }

    /// Begins to send a part of the wanted documents, from the reconciled snapshot.
    private func sendWantedPart(of addresses: [DocumentAddress], on link: Connection) {
        guard let telling = link.sender, let snapshot = telling.compared else {
            return fail(link, .protocolBroken, "a part was requested without a reconciliation")
        }
        // Documents of a part can be refused before the last batch is sent.
        if telling.parts == nil { recordComparedRefusals(telling.sent, snapshot, on: link) }
        let number = telling.parts?.number ?? nextStepNumber(link)
        link.sender?.parts = (snapshot.log.commit, number)
        link.sender?.outgoing = Outgoing(
            snapshot: snapshot, documents: Outgoing.Documents(addresses, in: snapshot), since: nil,
            number: number, newestDocument: telling.newestDocument, isPart: true)
        announceChanges(link)
    }

    /// Continues an evaluation; when it is done, the peer is answered.
    func prepare(_ link: Connection) {
        guard link.session.isOpen, let matcher = link.sender?.matcher,
            var work = link.sender?.preparation
        else { return }
        // Moved out of the struct, so that changes do not copy it.
        link.sender?.preparation = nil
        fillBudget(of: link)
        do throws(EngineError) {
            try run(&work, matcher, link)
        } catch {
            guard error == .paused else { return failSending(link, error) }
            link.sender?.preparation = work
            return
        }
        switch work.purpose {
        case .list(let listing):
            do throws(WireError) { try link.session.sendAnswer(listing.list) } catch {
                fail(link, .protocolBroken, "\(error)")
            }
        case .documents(let documents, let keys):
            begin(link, sending: documents, keys, work.snapshot)
        }
    }

    private func run(
        _ work: inout Preparation, _ matcher: SubscriptionMatcher, _ link: Connection
    ) throws(EngineError) {
        let snapshot = work.snapshot
        if work.ranking != nil {
            try work.ranking?.run(matcher, rankFilter(link, in: snapshot, isOwn: false))
            link.sender?.rankings = work.ranking?.rankings
            work.ranking = nil
        }
        let rankings = link.sender?.rankings ?? SubscriptionRankings()
        switch work.purpose {
        case .list(var listing):
            work.purpose = .list(VersionListing())
            defer { work.purpose = .list(listing) }
            let isFree = !isRestricted(link)
            try work.scan.run(matcher, rankings) { (key, document, name) throws(EngineError) in
                try listing.add(document, key, name) {
                    (document, key, address) throws(EngineError) in
                    if !isFree {
                        let isShown = try isShown(
                            link, document, key, address, snapshot, isOwn: false)
                        guard isShown else { return false }
                    }
                    link.sender?.newestDocument.update(key, in: snapshot)
                    return true
                }
            }
        case .documents(.all, var keys) where matcher.isRanked:
            work.purpose = .documents(.all, keys: [])
            defer { work.purpose = .documents(.all, keys: keys) }
            try work.scan.run(matcher, rankings) { key, _, _ in keys.append(key) }
        case .documents: break
        }
        try recordUnsendable(in: snapshot, &work.unsendable, on: link)
    }

    /// Begins to send the wanted documents, from the reconciled snapshot.
    private func begin(
        _ link: Connection, sending documents: Want.Documents, _ ranked: [[UInt8]],
        _ snapshot: DocumentSnapshot
    ) {
        guard let telling = link.sender else { return }
        let wanted: Outgoing.Documents
        switch documents {
        case .all where telling.matcher.isRanked: wanted = .keys(ranked, next: 0)
        case .all: wanted = .all(collections: telling.matcher.collections[...], from: nil)
        case .some(let addresses, _), .part(let addresses):
            wanted = Outgoing.Documents(addresses, in: snapshot)
        }
        if telling.parts == nil { recordComparedRefusals(telling.sent, snapshot, on: link) }
        link.sender?.isStreaming = true
        guard !telling.isListOutdated else {
            link.sender?.isListOutdated = false
            return restart(link)
        }
        link.sender?.outgoing = Outgoing(
            snapshot: snapshot, documents: wanted, since: nil,
            number: telling.parts?.number ?? nextStepNumber(link),
            newestDocument: telling.newestDocument)
        link.sender?.parts = nil
        announceChanges(link)
        reviewUnsendable(on: link)
    }
}

extension Replicator.Outgoing.Documents {
    /// Creates a list of named documents without duplicates.
    fileprivate init(_ addresses: [DocumentAddress], in snapshot: DocumentSnapshot) {
        var named: Set<[UInt8]> = []
        let keys = addresses.compactMap { snapshot.key(of: $0) }
        self = .keys(keys.filter { named.insert($0).inserted }, next: 0)
    }
}
