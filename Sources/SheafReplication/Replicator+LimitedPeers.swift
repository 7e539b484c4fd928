import SheafDocument
import SheafEngine
import SheafStorage
import SheafSync

/// Batches for peers with limited rights.
///
/// The bytes sent to such a peer depend only on documents that it may read. So batches have numbers
/// of their own, no batch is sent without a change that the peer may read, and documents are
/// complete, in the order of their addresses, with names numbered by the connection.
extension Replicator {
    // MARK: Subscriptions

    /// Starts a subscription; if it has a cursor, the peers reconcile.
    ///
    /// A check of the cursor's age would reveal how many commits were written since.
    func beginLimited(_ connection: Connection, _ request: Subscribe) {
        connection.sender?.sent = news.snapshot.log.commit
        if let matcher = connection.sender?.matcher {
            connection.sender?.limited.named =
                connection.exchange.limitedPeer?.repairs.filter {
                    matcher.selects(for: $0.collection)
                } ?? []
            let unjudged = connection.exchange.limitedPeer?.drainUnjudged() ?? []
            for address in unjudged.sorted(by: <) where matcher.selects(for: address.collection) {
                connection.sender?.limited.repairs.append(
                    LimitedSender.Repair(requiredCommit: 0, address: address, before: nil))
            }
        }
        if request.cursor != nil { connection.session.restart() }
    }

    /// Answers the pending requests of a delayed subscription.
    ///
    /// If it was early, the peers then reconcile again, since changes during the delay were not
    /// recorded.
    func answerDelayed(_ delayed: Delayed, of connection: Connection) {
        if delayed.questionSnapshot != nil { listMatches(connection, in: news.snapshot) }
        guard delayed.questionSnapshot != nil || delayed.wanted != nil else { return }
        // The actual delay depends on other peers, so only `isEarly` may decide.
        if delayed.isEarly { connection.sender?.isListOutdated = true }
        if let (documents, _) = delayed.wanted {
            prepareWanted(connection, documents, in: news.snapshot)
        }
    }

    /// Returns the newest snapshot as the peer may see it, and discards the reserved number.
    func visibleSnapshot(_ newest: DocumentSnapshot, _ connection: Connection) -> DocumentSnapshot {
        // The number is discarded even if no commit followed, since the peer may not be able to
        // read that commit.
        connection.exchange.reservedStep = nil
        return context(of: connection).shown(newest)
    }

    // MARK: Batches

    /// Makes new changes due; for a peer with limited rights, schedules them for the next tick.
    ///
    /// The time of a commit or its publication depends on documents that such a peer may not read.
    func scheduleSending(_ connection: Connection) {
        connection.isChanged = true
        guard connection.isLimited else {
            connection.sender?.isAwake = true
            return
        }
        guard let sender = connection.sender, sender.isStreaming else { return }
        if sender.outgoing != nil || !sender.limited.isIdle {
            connection.sender?.hasMore = true
            if !sender.limited.repairs.isEmpty { connection.sender?.limited.isJudging = true }
        } else {
            recordSyncedIfIdle(connection)
        }
    }

    /// Begins a batch of new changes; returns false if there are none or the peers must reconcile.
    func beginLimitedStep(_ connection: Connection) throws(EngineError) -> Bool {
        guard let matcher = connection.sender?.matcher else { return false }
        if connection.sender?.limited.draft == nil {
            try judgeIncoming(matcher, connection)
            try judgeRepairs(matcher, connection)
            guard beginDraft(connection) else { return false }
        }
        guard var draft = connection.sender?.limited.draft else { return false }
        connection.sender?.limited.draft = nil
        do throws(EngineError) {
            guard try advance(&draft, matcher, connection) else {
                restart(connection)
                return false
            }
            try choose(&draft, matcher, connection)
        } catch {
            if error == .paused { connection.sender?.limited.draft = draft }
            throw error
        }
        guard !draft.found.isEmpty else { return false }
        draft.outgoing.documents = .keys(draft.found, next: 0)
        draft.outgoing.number = connection.exchange.nextStepNumber()
        connection.sender?.outgoing = draft.outgoing
        return true
    }

    /// Begins to select the documents of a batch; returns false if nothing has changed.
    private func beginDraft(_ connection: Connection) -> Bool {
        guard let sender = connection.sender,
            !sender.limited.changes.changed.isEmpty
                || !sender.limited.named.isEmpty
        else { return false }
        let (changed, named) = (sender.limited.changes.changed, sender.limited.named)
        let length = connection.sender?.limited.changes.drainChanged() ?? 0
        connection.sender?.limited.named = []
        let snapshot = visibleSnapshot(news.snapshot, connection)
        let keys = inOrder(Array(changed.keys), snapshot)
        connection.sender?.limited.draft = LimitedSender.Draft(
            changed: changed, length: length, named: named.sorted(by: <),
            advance: sender.rankings.map {
                RankingAdvance($0, to: snapshot, changed: keys)
            },
            keys: keys,
            outgoing: Outgoing(
                snapshot: snapshot, documents: .keys([], next: 0), since: nil, complete: named))
        return true
    }

    /// Advances the rankings of a draft; returns false if the peers must reconcile.
    private func advance(
        _ draft: inout LimitedSender.Draft, _ matcher: SubscriptionMatcher, _ connection: Connection
    ) throws(EngineError) -> Bool {
        guard matcher.isRanked, !draft.hasAdvanced else { return true }
        let snapshot = draft.outgoing.snapshot
        try draft.advance?.run(matcher, connection.access.rankFilter(in: snapshot, isOwn: false))
        guard let rankings = draft.advance?.rankings, rankings.areSure else { return false }
        draft.hasAdvanced = true
        draft.outgoing.rankings = rankings
        draft.entered = Set(rankings.entered(snapshot.catalog))
        let entered = draft.entered.filter { draft.changed[$0] == nil }
        draft.keys = inOrder(draft.keys + entered, snapshot)
        connection.sender?.rankings = rankings
        connection.sender?.rankings?.discardChanges()
        return true
    }

    /// Selects the documents of a batch; throws `.paused` if the slice is used up.
    private func choose(
        _ draft: inout LimitedSender.Draft, _ matcher: SubscriptionMatcher, _ connection: Connection
    ) throws(EngineError) {
        while draft.next < draft.keys.count {
            let key = draft.keys[draft.next]
            let change = draft.changed[key]
            if change?.isOnlyFromPeer != true || draft.entered.contains(key) {
                let hasMatched = change?.hasMatched ?? false
                if try concerns(key, hasMatched: hasMatched, &draft.outgoing, connection) {
                    draft.found.append(key)
                }
            }
            draft.next += 1
        }
        let snapshot = draft.outgoing.snapshot
        let known = Set(draft.found)
        for address in draft.named {
            guard let key = snapshot.key(of: address), !known.contains(key),
                let document = try snapshot.document(key), !document.isRemnant,
                try maySend(document, key, address, draft.outgoing, toLimited: connection)
            else { continue }
            draft.found.append(key)
        }
    }

    /// Sorts keys by document address, since collection numbers depend on hidden collections.
    private func inOrder(_ keys: [[UInt8]], _ snapshot: DocumentSnapshot) -> [[UInt8]] {
        keys.compactMap { key in snapshot.address(of: key).map { (key, $0) } }
            .sorted { $0.1 < $1.1 }.map(\.0)
    }

    /// Whether a changed document must be sent to the peer.
    private func concerns(
        _ key: [UInt8], hasMatched: Bool, _ outgoing: inout Outgoing, _ connection: Connection
    ) throws(EngineError) -> Bool {
        let snapshot = outgoing.snapshot
        guard let matcher = connection.sender?.matcher, let address = snapshot.address(of: key),
            let document = try snapshot.document(key), !document.isRemnant
        else { return false }
        let ranked = outgoing.rankings?.contains(key, in: address.collection)
        let hasMatched = hasMatched || ranked?.before == true
        if !hasMatched, ranked?.now != true {
            let matches = try matcher.matches(
                document, key: key, in: address.collection, snapshot.names)
            guard matches else { return false }
        }
        // The peer could read the document before its deletion.
        if hasMatched, document.isTombstone { outgoing.knownDeletions.insert(key) }
        return try maySend(document, key, address, outgoing, toLimited: connection)
    }

    /// Whether a document, or its deletion, may be sent to a peer with limited rights.
    func maySend(
        _ document: StoredDocument, _ key: [UInt8], _ address: DocumentAddress,
        _ outgoing: Outgoing, toLimited connection: Connection
    ) throws(EngineError) -> Bool {
        guard document.isTombstone else {
            return try connection.access.maySend(
                document, before: nil, key, address, outgoing.snapshot.names)
        }
        guard connection.access.isShared(address.collection) else { return false }
        if outgoing.knownDeletions.contains(key) { return true }
        return try context(of: connection).mayKnowDeletion(key, address, outgoing.snapshot)
    }

    // MARK: Acknowledgments

    /// Records a sent batch until it is acknowledged.
    func recordSentToLimited(_ outgoing: Outgoing, on connection: Connection) {
        guard let number = outgoing.number else { return }
        connection.sender?.limited.steps.append(
            LimitedSender.Step(
                number: number, commit: outgoing.snapshot.log.commit,
                repairs: outgoing.complete))
    }

    /// Handles the acknowledgment of all batches up to `number`.
    func acknowledgedByLimited(_ connection: Connection, _ number: UInt64) {
        guard let limited = connection.sender?.limited else { return }
        let done = limited.steps.prefix { $0.number <= number }
        let count = done.count
        guard let last = done.last else { return }
        connection.sender?.limited.steps.removeFirst(count)
        // A document that has a newer repair is not settled yet.
        let again = limited.named.union(limited.repairs.map(\.address))
            .union(limited.draft?.named ?? [])
        for step in done {
            connection.exchange.limitedPeer?.recordRepaired(step.repairs.subtracting(again))
        }
        let acknowledged = connection.sender?.acknowledged ?? 0
        connection.sender?.acknowledged = max(acknowledged, last.commit)
        handleAcknowledgment(through: last.commit, on: connection)
        recordSynced(through: last.commit, connection)
        recordSyncedIfIdle(connection)
    }

    /// Records that the peer is in sync, if nothing is left to be sent to it.
    func recordSyncedIfIdle(_ connection: Connection) {
        guard connection.isLimited, let sender = connection.sender, sender.isStreaming,
            sender.outgoing == nil, sender.limited.steps.isEmpty, sender.limited.isIdle
        else { return }
        let newest = news.snapshot.log.commit
        connection.sender?.acknowledged = newest
        // Batches that repeat documents have the number that follows the commit.
        handleAcknowledgment(through: newest + 1, on: connection)
        recordSynced(through: newest, connection)
    }
}
