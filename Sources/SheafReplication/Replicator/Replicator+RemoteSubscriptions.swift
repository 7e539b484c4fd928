import SheafDocument
import SheafEngine
import SheafQuery
import SheafStatements
import SheafStorage
import SheafSync

/// The subscriptions of remote peers, until their senders are created.
extension Replicator {
    /// The parsed queries of a subscription.
    struct SubscriptionReading {
        var queries: [SubscriptionQuery] = []
        var tally = SubscriptionTally()
    }

    /// A received subscription until it is active.
    struct Delayed {
        let request: Subscribe
        let turn: UInt64
        /// The part of its queries that is parsed.
        var reading = SubscriptionReading()
        // Later requests keep the snapshot of their receipt: otherwise the peer would miss a
        // document that is added and deleted before the answer.
        var questionSnapshot: DocumentSnapshot?
        package var wanted: (documents: Want.Documents, snapshot: DocumentSnapshot)?
        /// Whether the subscription was received before the limit permitted it.
        var isEarly = false
    }

    /// Handles a received subscription, and starts it if the limit permits.
    func subscribed(_ connection: Connection, _ request: Subscribe) {
        let turn = rateLimiters.recordSubscription(of: connection.session.remote?.peerKey, now)
        // A new subscription ends the previous one.
        connection.sender = nil
        let maximumDelay =
            UInt64(SyncLimits.delayedSubscriptions) * SyncLimits.subscriptionNanoseconds
        if turn > now + maximumDelay {
            connection.delayed = nil
            fail(connection, .limit, "too many subscriptions in a short time")
        } else {
            connection.delayed = Delayed(request: request, turn: turn, isEarly: turn > now)
            begin(connection)
        }
    }

    /// Activates a permitted subscription: parses its queries, then answers pending requests.
    func begin(_ connection: Connection) {
        guard let delayed = connection.delayed, delayed.turn <= now, connection.session.isOpen
        else { return }
        let request = delayed.request
        guard let queries = read(connection, delayed) else { return }
        connection.delayed = nil
        // A peer that subscribes again lacks documents, so both sides send from then on.
        connection.receiver.announced.isAnnouncing = false
        let matcher = SubscriptionMatcher(
            queries, self.queries, meter: meter(of: connection), where: readFilter(connection))
        connection.sender = Sender(matcher, from: request.commit)
        refusals.beginAnew(connection.session.remote?.peerKey ?? [])
        renewIfCollectionsChanged(connection)
        guard !connection.isLimited else {
            runSender(of: connection) { sender, context, exchange in
                sender.beginLimited(request, context, on: &exchange)
            }
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
                guard connection.session.hasAllCollections || !query.selectsAllCollections else {
                    throw StoreError(
                        .meaning, "this version has no subscriptions to all collections")
                }
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
        guard cursor.log == log, cursor.commit <= recent.snapshot.log.commit,
            cursor.commit >= recent.collectedThrough,
            repairs.discardedThrough.map({ cursor.commit > $0 }) ?? true,
            peers.isCurrent(
                upTo: cursor, of: connection.session.remote?.peerKey ?? []),
            // Rankings at the cursor are not recorded, so the peers must reconcile.
            connection.sender?.matcher.isRanked == false
        else {
            connection.session.restart()
            return
        }
        let repairs = outstandingRepairs(of: connection)
        connection.sender?.begin(from: cursor.commit, complete: repairs.union(request.complete))
    }

    /// Answers the pending requests of a delayed subscription.
    ///
    /// If it was early, the peers then reconcile again, since changes during the delay were not
    /// recorded.
    private func answerDelayed(_ delayed: Delayed, of connection: Connection) {
        if delayed.questionSnapshot != nil { listMatches(connection, in: recent.snapshot) }
        guard delayed.questionSnapshot != nil || delayed.wanted != nil else { return }
        // The actual delay depends on other peers, so only `isEarly` may decide.
        if delayed.isEarly { connection.sender?.isListOutdated = true }
        if let (documents, _) = delayed.wanted {
            prepareWanted(connection, documents, in: recent.snapshot)
        }
    }

    // MARK: Requests

    /// Answers a request for the version list, when the subscription is active.
    func listMatches(_ connection: Connection, in snapshot: DocumentSnapshot) {
        connection.delayed?.questionSnapshot = snapshot
        evaluate(connection) { sender, context, exchange throws(EngineError) in
            try sender.listMatches(in: snapshot, context, on: &exchange)
        }
    }

    /// Sends the requested documents, when the subscription is active.
    func prepareWanted(
        _ connection: Connection, _ documents: Want.Documents, in newest: DocumentSnapshot
    ) {
        if documents.isPart {
            guard connection.sender != nil else {
                return fail(
                    connection, .protocolBroken, "a part was requested without a reconciliation")
            }
        } else {
            connection.delayed?.wanted = (documents, newest)
        }
        evaluate(connection) { sender, context, exchange throws(EngineError) in
            try sender.prepareWanted(documents, in: newest, context, on: &exchange)
        }
    }
}
