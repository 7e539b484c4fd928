import SheafDocument
import SheafQuery
import SheafStorage
import SheafSync

/// Evaluation for another peer before it is answered, turn by turn.
///
/// Evaluation for all peers shares one slice in each turn of the loop. Where the slice is over, a peer waits for
/// a later turn, and those after it have theirs first.
extension SyncHost {
    /// A subscription that is parsed, query by query.
    struct SubscriptionReading {
        var queries: [SubscriptionQuery] = []
        var tally = SubscriptionTally()
    }

    /// What is computed of a state before the other side is answered.
    struct Preparation {
        enum Purpose {
            /// The list with which the two compare.
            case list(VersionListing)
            /// The documents that are sent, where they have a rank.
            case want(Want.Documents, keys: [[UInt8]])
        }

        let snapshot: DocumentSnapshot
        var purpose: Purpose
        /// Ranks documents first, unless that is done.
        var ranking: RankingScan?
        var scan: MatchScan
        /// Visits the documents that the own grant may not let this side send.
        var unsendable: DocumentScan
    }

    // MARK: Turns

    /// Continues the work left from former turns until the slice is over, beginning after the
    /// connection that the last slice ended with.
    func continueTelling() {
        slice.refill()
        // Mostly nothing is left.
        guard links.values.contains(where: { $0.isUnfinished || $0.delayed != nil }) else { return }
        let links = allLinks
        let first = links.firstIndex { $0.number > slicedLink } ?? 0
        for link in links[first...] + links[..<first] {
            let wasOver = slice.isOver
            begin(link)
            prepare(link)
            judgeChanges(link)
            if link.telling?.goesOn == true { tell(link) }
            settleDisputed(on: link)
            if link.files.isCheckingProofs { answerProofs(on: link) }
            handle(link)
            if slice.isOver, !wasOver { slicedLink = link.number }
        }
    }

    // MARK: Subscriptions

    /// Goes on with a subscription whose turn has come: parses what is left of it, and answers what was asked
    /// meanwhile.
    func begin(_ link: Link) {
        guard let delayed = link.delayed, delayed.turn <= now, link.session.isOpen else { return }
        let request = delayed.request
        guard let queries = read(link, delayed) else { return }
        link.delayed = nil
        // A peer that subscribes again is missing something: from then on both sides send.
        link.asking.announced.isAnnouncing = false
        link.telling = Telling(
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
        if let asked = delayed.asked { listMatches(link, in: asked) }
        if let (documents, snapshot) = delayed.wanted { wanted(link, documents, in: snapshot) }
    }

    /// Parses the queries of a subscription; nil where that goes on later, or has ended the connection.
    private func read(_ link: Link, _ delayed: Delayed) -> [SubscriptionQuery]? {
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
                // Parsing and planning are paid for, too.
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

    private func begin(_ link: Link, from cursor: Cursor, _ request: Subscribe) {
        guard cursor.log == log, cursor.commit <= news.snapshot.log.commit,
            cursor.commit >= news.reapedThrough,
            corrections.forgottenThrough.map({ cursor.commit > $0 }) ?? true,
            isTold(upTo: cursor, link),
            // What was among the first then is not known any more.
            link.telling?.matcher.isRanked == false
        else {
            link.session.restart()
            return
        }
        link.telling?.sent = cursor.commit
        link.telling?.isStreaming = true
        link.telling?.isBehind = true
        let corrections = outstandingCorrections(of: link)
        link.telling?.whole = corrections.union(request.whole)
        tell(link)
    }

    // MARK: Comparing

    func listMatches(_ link: Link, in snapshot: DocumentSnapshot) {
        link.delayed?.asked = snapshot
        guard let matcher = link.telling?.matcher else { return }
        let snapshot = takeStepSnapshot(snapshot, link)
        link.telling?.limited.forgetChanges()
        link.telling?.compared = snapshot
        link.telling?.newest = NewestDocument()
        link.telling?.parts = nil
        link.telling?.preparation = Preparation(
            snapshot: snapshot, purpose: .list(VersionListing()), ranking: RankingScan(snapshot),
            scan: MatchScan(versionsIn: snapshot, matcher), unsendable: DocumentScan())
        prepare(link)
    }

    func wanted(_ link: Link, _ documents: Want.Documents, in newest: DocumentSnapshot) {
        if case .part(let addresses) = documents {
            return sendWantedPart(of: addresses, on: link)
        }
        link.delayed?.wanted = (documents, newest)
        guard let telling = link.telling else { return }
        // A list that was asked for is done: the session refuses what overtakes the answer.
        let compared = telling.compared
        let snapshot = compared ?? takeStepSnapshot(newest, link)
        if compared == nil { link.telling?.limited.forgetChanges() }
        link.telling?.compared = nil
        if compared == nil { link.telling?.newest = NewestDocument() }
        link.telling?.preparation = Preparation(
            snapshot: snapshot, purpose: .want(documents, keys: []),
            ranking: compared == nil ? RankingScan(snapshot) : nil,
            scan: MatchScan(snapshot, telling.matcher.collections),
            unsendable: DocumentScan(telling.matcher.collections))
        prepare(link)
    }

    /// Begins to send a part of what the other side wants, in the state that is compared.
    private func sendWantedPart(of addresses: [DocumentAddress], on link: Link) {
        guard let telling = link.telling, let snapshot = telling.compared else {
            return fail(link, .protocolBroken, "a part is wanted without a comparison")
        }
        // Of documents in a part, refusals can come before the last step is sent.
        if telling.parts == nil { noteComparedRefusals(telling.sent, snapshot, on: link) }
        let number = telling.parts?.number ?? nextStepNumber(link)
        link.telling?.parts = (snapshot.log.commit, number)
        link.telling?.outgoing = Outgoing(
            snapshot: snapshot, documents: Outgoing.Documents(addresses, in: snapshot), since: nil,
            number: number, newest: telling.newest, isPart: true)
        tell(link)
    }

    /// Goes on with what is computed before the other side is answered.
    func prepare(_ link: Link) {
        guard link.session.isOpen, let matcher = link.telling?.matcher,
            var work = link.telling?.preparation
        else { return }
        // It is changed where it is.
        link.telling?.preparation = nil
        fillBudget(of: link)
        do throws(EngineError) {
            try run(&work, matcher, link)
        } catch {
            guard error == .paused else { return failTelling(link, error) }
            link.telling?.preparation = work
            return
        }
        switch work.purpose {
        case .list(let listing):
            do throws(WireError) { try link.session.tell(listing.list) } catch {
                fail(link, .protocolBroken, "\(error)")
            }
        case .want(let documents, let keys):
            begin(link, sending: documents, keys, work.snapshot)
        }
    }

    private func run(
        _ work: inout Preparation, _ matcher: SubscriptionMatcher, _ link: Link
    ) throws(EngineError) {
        let snapshot = work.snapshot
        if work.ranking != nil {
            try work.ranking?.run(matcher, rankFilter(link, in: snapshot, isOwn: false))
            link.telling?.rankings = work.ranking?.rankings
            work.ranking = nil
        }
        let rankings = link.telling?.rankings ?? SubscriptionRankings()
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
                    link.telling?.newest.note(key, in: snapshot)
                    return true
                }
            }
        case .want(.all, var keys) where matcher.isRanked:
            work.purpose = .want(.all, keys: [])
            defer { work.purpose = .want(.all, keys: keys) }
            try work.scan.run(matcher, rankings) { key, _, _ in keys.append(key) }
        case .want: break
        }
        try noteUnsendable(in: snapshot, &work.unsendable, on: link)
    }

    /// Begins to send what the other side wants, in the state that was compared.
    private func begin(
        _ link: Link, sending documents: Want.Documents, _ ranked: [[UInt8]],
        _ snapshot: DocumentSnapshot
    ) {
        guard let telling = link.telling else { return }
        let wanted: Outgoing.Documents
        switch documents {
        case .all where telling.matcher.isRanked: wanted = .keys(ranked, next: 0)
        case .all: wanted = .all(collections: telling.matcher.collections[...], from: nil)
        case .some(let addresses, _), .part(let addresses):
            wanted = Outgoing.Documents(addresses, in: snapshot)
        }
        if telling.parts == nil { noteComparedRefusals(telling.sent, snapshot, on: link) }
        link.telling?.isStreaming = true
        guard !telling.isListOutdated else {
            link.telling?.isListOutdated = false
            return restart(link)
        }
        link.telling?.outgoing = Outgoing(
            snapshot: snapshot, documents: wanted, since: nil,
            number: telling.parts?.number ?? nextStepNumber(link),
            newest: telling.newest)
        link.telling?.parts = nil
        tell(link)
        reviewUnsendable(on: link)
    }
}

extension SyncHost.Outgoing.Documents {
    /// Named documents: a step has each of them once, also where a peer names it twice.
    fileprivate init(_ addresses: [DocumentAddress], in snapshot: DocumentSnapshot) {
        var named: Set<[UInt8]> = []
        let keys = addresses.compactMap { snapshot.key(of: $0) }
        self = .keys(keys.filter { named.insert($0).inserted }, next: 0)
    }
}
