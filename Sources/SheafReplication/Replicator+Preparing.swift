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
        guard
            transfer.isCheckingProofs
                || connections.values.contains(where: { $0.isUnfinished || $0.delayed != nil })
        else { return }
        let ordered = orderedConnections
        let first = ordered.firstIndex { $0.number > lastSlicedConnection } ?? 0
        for connection in ordered[first...] + ordered[..<first] {
            let wasOver = slice.isOver
            begin(connection)
            prepare(connection)
            follow(connection)
            judgeChanges(connection)
            if connection.sender?.hasMore == true {
                connection.sender?.isAwake = true
                follow(connection)
            }
            resolveDisputed(on: connection)
            if transfer[connection.number].isCheckingProofs { answerProofs(on: connection) }
            settle(connection)
            if slice.isOver, !wasOver { lastSlicedConnection = connection.number }
        }
    }

    // MARK: Subscriptions

    /// Activates a permitted subscription: parses its queries, then answers pending requests.
    func begin(_ connection: Connection) {
        guard let delayed = connection.delayed, delayed.turn <= now, connection.session.isOpen
        else { return }
        let request = delayed.request
        guard let queries = read(connection, delayed) else { return }
        connection.delayed = nil
        // A peer that subscribes again lacks documents, so both sides send from then on.
        connection.receiver.announced.isAnnouncing = false
        connection.sender = Sender(
            generation: request.generation,
            matcher: SubscriptionMatcher(
                queries, self.queries, meter: meter(of: connection), where: readFilter(connection)),
            remoteCommit: request.commit)
        refusals.beginAnew(connection.session.remote?.peerKey ?? [])
        guard !connection.isLimited else {
            beginLimited(connection, request)
            return answerDelayed(delayed, of: connection)
        }
        if let cursor = request.cursor { begin(connection, from: cursor, request) }
        if let asked = delayed.questionSnapshot { listMatches(connection, in: asked) }
        if let (documents, snapshot) = delayed.wanted {
            prepareWanted(connection, documents, in: snapshot)
        }
    }

    /// Parses the queries of a subscription; returns nil if that is incomplete or has failed.
    private func read(_ connection: Connection, _ delayed: Delayed) -> [SubscriptionQuery]? {
        let (request, meter) = (delayed.request, meter(of: connection))
        let isRestricted = queries.parameters.values.restrictsSubscriptions
        var reading = delayed.reading
        connection.delayed?.reading = SubscriptionReading()
        fillBudget(of: connection)
        var text = ""
        do throws(StoreError) {
            while reading.queries.count < request.queries.count {
                guard !meter.isTurnOver else {
                    connection.delayed?.reading = reading
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
            connection.delayed = nil
            fail(connection, rejecting: text, because: error)
            return nil
        }
        return reading.queries
    }

    private func begin(_ connection: Connection, from cursor: Cursor, _ request: Subscribe) {
        guard cursor.log == log, cursor.commit <= news.snapshot.log.commit,
            cursor.commit >= news.collectedThrough,
            repairs.discardedThrough.map({ cursor.commit > $0 }) ?? true,
            isCurrent(upTo: cursor, connection),
            // Rankings at the cursor are not recorded, so the peers must reconcile.
            connection.sender?.matcher.isRanked == false
        else {
            connection.session.restart()
            return
        }
        connection.sender?.sent = cursor.commit
        connection.sender?.isStreaming = true
        connection.sender?.isBehind = true
        let repairs = outstandingRepairs(of: connection)
        connection.sender?.complete = repairs.union(request.complete)
        connection.sender?.isAwake = true
    }

    // MARK: Reconciliation

    func listMatches(_ connection: Connection, in snapshot: DocumentSnapshot) {
        connection.delayed?.questionSnapshot = snapshot
        guard let matcher = connection.sender?.matcher else { return }
        let snapshot = visibleSnapshot(snapshot, connection)
        connection.sender?.limited.discardChanges()
        connection.sender?.compared = snapshot
        connection.sender?.newestDocument = NewestDocument()
        connection.sender?.parts = nil
        connection.sender?.preparation = Preparation(
            snapshot: snapshot, purpose: .list(VersionListing()), ranking: RankingScan(snapshot),
            scan: MatchScan(versionsIn: snapshot, matcher), unsendable: DocumentScan())
        prepare(connection)
    }

    func prepareWanted(
        _ connection: Connection, _ documents: Want.Documents, in newest: DocumentSnapshot
    ) {
        if case .part(let addresses) = documents {
            return sendWantedPart(of: addresses, on: connection)
        }
        connection.delayed?.wanted = (documents, newest)
        guard let sender = connection.sender else { return }
        // A requested list is complete: the session refuses a `want` before the end of the list.
        let compared = sender.compared
        let snapshot = compared ?? visibleSnapshot(newest, connection)
        if compared == nil { connection.sender?.limited.discardChanges() }
        connection.sender?.compared = nil
        if compared == nil { connection.sender?.newestDocument = NewestDocument() }
        connection.sender?.preparation = Preparation(
            snapshot: snapshot, purpose: .documents(documents, keys: []),
            ranking: compared == nil ? RankingScan(snapshot) : nil,
            scan: MatchScan(snapshot, sender.matcher.collections),
            unsendable: DocumentScan(sender.matcher.collections))
        prepare(connection)
    }

    /// Begins to send a part of the wanted documents, from the reconciled snapshot.
    private func sendWantedPart(of addresses: [DocumentAddress], on connection: Connection) {
        guard let sender = connection.sender, let snapshot = sender.compared else {
            return fail(
                connection, .protocolBroken, "a part was requested without a reconciliation")
        }
        // Documents of a part can be refused before the last batch is sent.
        if sender.parts == nil { recordComparedRefusals(sender.sent, snapshot, on: connection) }
        let number = sender.parts?.number ?? connection.exchange.nextStepNumber()
        connection.sender?.parts = (snapshot.log.commit, number)
        connection.sender?.outgoing = Outgoing(
            snapshot: snapshot, documents: Outgoing.Documents(addresses, in: snapshot), since: nil,
            number: number, newestDocument: sender.newestDocument, isPart: true)
        connection.sender?.isAwake = true
    }

    /// Continues an evaluation; when it is done, the peer is answered.
    func prepare(_ connection: Connection) {
        guard connection.session.isOpen, let matcher = connection.sender?.matcher,
            var work = connection.sender?.preparation
        else { return }
        // The value is moved out of the struct, so that changes do not copy it.
        connection.sender?.preparation = nil
        fillBudget(of: connection)
        do throws(EngineError) {
            try run(&work, matcher, connection)
        } catch {
            guard error == .paused else { return failSending(connection, error) }
            connection.sender?.preparation = work
            return
        }
        switch work.purpose {
        case .list(let listing):
            do throws(WireError) { try connection.session.sendAnswer(listing.list) } catch {
                fail(connection, .protocolBroken, "\(error)")
            }
        case .documents(let documents, let keys):
            begin(connection, sending: documents, keys, work.snapshot)
        }
    }

    private func run(
        _ work: inout Preparation, _ matcher: SubscriptionMatcher, _ connection: Connection
    ) throws(EngineError) {
        let snapshot = work.snapshot
        if work.ranking != nil {
            try work.ranking?.run(matcher, connection.access.rankFilter(in: snapshot, isOwn: false))
            connection.sender?.rankings = work.ranking?.rankings
            work.ranking = nil
        }
        let rankings = connection.sender?.rankings ?? SubscriptionRankings()
        switch work.purpose {
        case .list(var listing):
            work.purpose = .list(VersionListing())
            defer { work.purpose = .list(listing) }
            let isFree = !connection.access.isRestricted
            try work.scan.run(matcher, rankings) { (key, document, name) throws(EngineError) in
                try listing.add(document, key, name) {
                    (document, key, address) throws(EngineError) in
                    if !isFree {
                        let isShown = try connection.access.isShown(
                            document, key, address, snapshot.names, isOwn: false)
                        guard isShown else { return false }
                    }
                    connection.sender?.newestDocument.update(key, in: snapshot)
                    return true
                }
            }
        case .documents(.all, var keys) where matcher.isRanked:
            work.purpose = .documents(.all, keys: [])
            defer { work.purpose = .documents(.all, keys: keys) }
            try work.scan.run(matcher, rankings) { key, _, _ in keys.append(key) }
        case .documents: break
        }
        try recordUnsendable(in: snapshot, &work.unsendable, on: connection)
    }

    /// Begins to send the wanted documents, from the reconciled snapshot.
    private func begin(
        _ connection: Connection, sending documents: Want.Documents, _ ranked: [[UInt8]],
        _ snapshot: DocumentSnapshot
    ) {
        guard let sender = connection.sender else { return }
        let wanted: Outgoing.Documents
        switch documents {
        case .all where sender.matcher.isRanked: wanted = .keys(ranked, next: 0)
        case .all: wanted = .all(collections: sender.matcher.collections[...], from: nil)
        case .some(let addresses, _), .part(let addresses):
            wanted = Outgoing.Documents(addresses, in: snapshot)
        }
        if sender.parts == nil { recordComparedRefusals(sender.sent, snapshot, on: connection) }
        connection.sender?.isStreaming = true
        guard !sender.isListOutdated else {
            connection.sender?.isListOutdated = false
            return restart(connection)
        }
        connection.sender?.outgoing = Outgoing(
            snapshot: snapshot, documents: wanted, since: nil,
            number: sender.parts?.number ?? connection.exchange.nextStepNumber(),
            newestDocument: sender.newestDocument)
        connection.sender?.parts = nil
        connection.sender?.isAwake = true
        connection.sender?.isReviewDue = true
    }
}

extension Outgoing.Documents {
    /// Creates a list of named documents without duplicates.
    fileprivate init(_ addresses: [DocumentAddress], in snapshot: DocumentSnapshot) {
        var named: Set<[UInt8]> = []
        let keys = addresses.compactMap { snapshot.key(of: $0) }
        self = .keys(keys.filter { named.insert($0).inserted }, next: 0)
    }
}
