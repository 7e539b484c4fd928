import SheafDocument
import SheafEngine
import SheafQuery
import SheafStatements
import SheafStorage
import SheafSync

/// The subscriptions of this peer at remote peers.
///
/// Each subscription costs the remote peer a scan of its documents, so both sides limit the rate in
/// the same way. A subscriber delays itself until its limit permits the subscription. A peer that
/// does not is delayed by the other side, and finally disconnected.
extension Replicator {
    /// Replaces the subscription of this peer.
    ///
    /// Queries that read `clock()` are sent with a fixed time (`Replicator+Windows.swift`).
    package func subscribe(_ queries: [SubscriptionQuery]) {
        guard replaceSubscription(with: queries) else {
            for connection in orderedConnections { renewIfCollectionsChanged(connection) }
            return pump()
        }
        for connection in orderedConnections where connection.session.isOpen {
            renewSubscription(connection)
        }
        pump()
    }

    /// Replaces the queries, but does not send them; returns false if they are the same.
    ///
    /// A query that exceeds a limit with the current time is left out while it does.
    func replaceSubscription(with requested: [SubscriptionQuery]) -> Bool {
        let wall = wallMilliseconds
        var (renewed, sendable): ([SubscriptionQuery], [SubscriptionQuery]) = ([], [])
        var unsendable: Set<SubscribedQuery> = []
        var tally = SubscriptionTally()
        for query in requested {
            do throws(StoreError) {
                let current = try query.renewed(at: wall, self.queries)
                try tally.add(current)
                renewed.append(current)
                sendable.append(current)
            } catch {
                renewed.append(query)
                guard unsendable.insert(query.requestedWire).inserted,
                    !subscriptions.unsendable.contains(query.requestedWire)
                else { continue }
                self.queries.log?.write(.error, "a subscription cannot be sent: \(error.message)")
            }
        }
        subscriptions.unsendable = unsendable
        // A query that another one covers would cost the remote peer time without a benefit.
        let queries = SubscriptionQuery.effective(sendable)
        let wire = queries.map(\.wire)
        let isWider = !SubscriptionQuery.areCovered(queries, by: subscriptions.queries)
        subscriptions.wallMilliseconds = wall
        (subscriptions.requested, subscriptions.known) = (renewed, nil)
        subscriptions.hasWindows = renewed.contains(where: \.isWindow)
        if !subscriptions.hasWindows { subscriptions.renewedAt = nil }
        guard wire != subscriptions.wire else { return false }
        subscriptions.wire = wire
        subscriptions.queries = queries
        subscriptions.matcher = SubscriptionMatcher(queries, self.queries, stop: evaluationStop)
        if isWider { subscriptions.epoch += 1 }
        return true
    }

    /// Requests again the evicted documents that match the subscription.
    func requestEvicted() {
        var isConcerned = false
        var evicted: [EvictedDocument] = []
        for commit in recent.fresh {
            // Documents that were received again are included: their states may be older or newer.
            for change in commit.changes where change.isEvicted {
                guard let before = change.before else { continue }
                // A hub evicts documents that other hubs have deleted: clients that still have
                // them must not send them again.
                guard !isHub || before.isTombstone else { continue }
                if !refusals.isEmpty, let address = recent.snapshot.address(of: change.key.bytes) {
                    refusals.remove(address)
                }
                // Other peers may still have a document whose tombstone was collected locally.
                if before.isTombstone { recent.recordCollection(at: commit.number) }
                if let address = recent.snapshot.address(of: change.key.bytes),
                    subscriptions.matcher?.selects(for: address.collection) ?? false
                {
                    isConcerned = true
                    evicted.append(
                        EvictedDocument(
                            key: change.key.bytes, address: address, before: before))
                }
            }
        }
        guard isConcerned else { return }
        // Documents that have left a window since its last renewal must not be requested again.
        fixWindows()
        subscriptions.epoch += 1
        subscriptions.evictionCount += 1
        for connection in orderedConnections
        where connection.session.isOpen && context(of: connection).isConcerned(by: evicted) {
            renewSubscription(connection)
        }
    }

    /// Subscribes at the remote peer, immediately or when the rate limiter permits it.
    func renewSubscription(_ connection: Connection, complete: [DocumentAddress] = []) {
        guard connection.session.isOpen else { return }
        // An empty subscription is sent only if it replaces another one.
        guard !subscriptions.queries.isEmpty || connection.receiver.generation > 0 else { return }
        // A peer with limited rights must not observe evictions of documents that it may not read.
        let epoch =
            connection.isLimited
            ? subscriptions.epoch &- subscriptions.evictionCount : subscriptions.epoch
        // The credit of discarded batches is granted again, too.
        connection.session.grant(connection.receiver.renew(epoch))
        subscribe(connection, complete: complete)
    }

    func sendSubscription(_ connection: Connection, complete: [DocumentAddress]) {
        guard let hello = connection.session.remote, connection.session.isOpen else { return }
        // The time of the last eviction must not show.
        if connection.isLimited { fixWindows() }
        connection.receiver.former = nil
        let (requested, named) = requestedQueries(of: connection)
        connection.receiver.named = named
        var cursor: Cursor?
        if let known = subscriptions.cursors[hello.peerKey], known.epoch == subscriptions.epoch,
            known.cursor.log == hello.log, known.named == named, !connection.isLimited
        {
            // Documents whose addresses do not fit in one frame are found by reconciliation.
            if Subscribe.fits(complete: complete) { cursor = known.cursor }
        }
        connection.receiver.reached = cursor?.commit ?? 0
        connection.session.subscribe(
            Subscribe(
                generation: connection.receiver.generation, requested,
                at: connection.isLimited
                    ? connection.exchange.reserveStepNumber() : recent.snapshot.log.commit,
                from: cursor,
                complete: cursor == nil ? [] : complete))
    }

    // MARK: Rate limits

    /// Subscribes now or when the limit permits it; until then, received batches are ignored.
    func subscribe(_ connection: Connection, complete: [DocumentAddress]) {
        if connection.receiver.delayedSubscription != nil {
            connection.receiver.delayedSubscription?.complete += complete
            return
        }
        let turn = rateLimiters.subscribe(at: connection.session.remote?.peerKey, now)
        guard turn > now else { return sendSubscription(connection, complete: complete) }
        connection.receiver.delayedSubscription = DelayedSubscription(
            turn: turn, complete: complete)
    }

    func applyRateLimits(_ connection: Connection) {
        if let due = connection.receiver.delayedSubscription, due.turn <= now {
            connection.receiver.delayedSubscription = nil
            sendSubscription(connection, complete: due.complete)
        }
    }
}
