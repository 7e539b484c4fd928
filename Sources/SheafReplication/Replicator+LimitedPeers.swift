package import SheafDocument
package import SheafEngine
package import SheafStorage
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
    func beginLimited(_ link: Connection, _ request: Subscribe) {
        link.sender?.sent = news.snapshot.log.commit
        if let key = link.session.remote?.peerKey, let matcher = link.sender?.matcher {
            link.sender?.limited.named =
                limitedPeers[key]?.corrections.filter { matcher.selects(for: $0.collection) } ?? []
            let unjudged = limitedPeers[key]?.drainUnjudged() ?? []
            for address in unjudged.sorted(by: <) where matcher.selects(for: address.collection) {
                link.sender?.limited.corrections.append(
                    LimitedSender.Correction(requiredCommit: 0, address: address, before: nil))
            }
        }
        if request.cursor != nil { link.session.restart() }
    }

    /// Answers the pending requests of a delayed subscription and begins a new reconciliation.
    ///
    /// It is needed because changes during the delay were not recorded.
    func answerDelayed(_ delayed: Delayed, of link: Connection) {
        if delayed.questionSnapshot != nil { listMatches(link, in: news.snapshot) }
        guard delayed.questionSnapshot != nil || delayed.wanted != nil else { return }
        // The actual delay depends on other peers, so only `isEarly` may decide.
        if delayed.isEarly { link.sender?.isListOutdated = true }
        if let (documents, _) = delayed.wanted { prepareWanted(link, documents, in: news.snapshot) }
    }

    /// Returns the number of the next batch; nil if batches are numbered by commits.
    func nextStepNumber(_ link: Connection) -> UInt64? {
        guard link.isLimited, let key = link.session.remote?.peerKey else { return nil }
        if let reserved = link.reservedStep {
            link.reservedStep = nil
            return reserved
        }
        limitedPeers[key, default: LimitedPeer()].stepCount += 1
        return stepCount(of: link)
    }

    /// Reserves and returns a number for the next batch, if its snapshot precedes this call.
    ///
    /// Reconciled documents can be evicted here before they are sent. If the number of their batch
    /// were above that of the subscription, the peer would assume that they are still stored here,
    /// and not send them back.
    func reserveStepNumber(_ link: Connection) -> UInt64 {
        guard let key = link.session.remote?.peerKey else { return 0 }
        limitedPeers[key, default: LimitedPeer()].stepCount += 1
        link.reservedStep = stepCount(of: link)
        return stepCount(of: link)
    }

    /// Returns the newest snapshot as the peer may see it, and discards the reserved number.
    func visibleSnapshot(_ newest: DocumentSnapshot, _ link: Connection) -> DocumentSnapshot {
        // The number is discarded even if no commit followed, since the peer may not be able to
        // read that commit.
        link.reservedStep = nil
        return shown(newest, to: link)
    }

    /// Returns the number of the last batch that was sent to the peer.
    func stepCount(of link: Connection) -> UInt64 {
        link.session.remote.flatMap { limitedPeers[$0.peerKey]?.stepCount } ?? 0
    }

    // MARK: Batches

    /// Sends new changes; for a peer with limited rights, schedules them for the next tick.
    ///
    /// The time of a commit or its publication depends on documents that such a peer may not read.
    func sendChanges(_ link: Connection) {
        guard link.isLimited else { return announceChanges(link) }
        guard let telling = link.sender, telling.isStreaming else { return }
        if telling.outgoing != nil || !telling.limited.isIdle {
            link.sender?.goesOn = true
            if !telling.limited.corrections.isEmpty { link.sender?.limited.isJudging = true }
        } else {
            recordSyncedIfIdle(link)
        }
    }

    /// Begins a batch of new changes; returns false if there are none or the peers must reconcile.
    func beginLimitedStep(_ link: Connection) throws(EngineError) -> Bool {
        guard let matcher = link.sender?.matcher else { return false }
        if link.sender?.limited.draft == nil {
            try judgeIncoming(matcher, link)
            try judgeCorrections(matcher, link)
            guard beginDraft(link) else { return false }
        }
        guard var draft = link.sender?.limited.draft else { return false }
        link.sender?.limited.draft = nil
        do throws(EngineError) {
            guard try advance(&draft, matcher, link) else {
                restart(link)
                return false
            }
            try choose(&draft, matcher, link)
        } catch {
            if error == .paused { link.sender?.limited.draft = draft }
            throw error
        }
        guard !draft.found.isEmpty else { return false }
        draft.outgoing.documents = .keys(draft.found, next: 0)
        draft.outgoing.number = nextStepNumber(link)
        link.sender?.outgoing = draft.outgoing
        return true
    }

    /// Begins to select the documents of a batch; returns false if nothing has changed.
    private func beginDraft(_ link: Connection) -> Bool {
        guard let telling = link.sender,
            !telling.limited.changes.changed.isEmpty
                || !telling.limited.named.isEmpty
        else { return false }
        let (changed, named) = (telling.limited.changes.changed, telling.limited.named)
        let length = link.sender?.limited.changes.drainChanged() ?? 0
        link.sender?.limited.named = []
        let snapshot = visibleSnapshot(news.snapshot, link)
        let keys = inOrder(Array(changed.keys), snapshot)
        link.sender?.limited.draft = LimitedSender.Draft(
            changed: changed, length: length, named: named.sorted(by: <),
            advance: telling.rankings.map {
                RankingAdvance($0, to: snapshot, changed: keys)
            },
            keys: keys,
            outgoing: Outgoing(
                snapshot: snapshot, documents: .keys([], next: 0), since: nil, complete: named))
        return true
    }

    /// Advances the rankings of a draft; returns false if the peers must reconcile.
    private func advance(
        _ draft: inout LimitedSender.Draft, _ matcher: SubscriptionMatcher, _ link: Connection
    ) throws(EngineError) -> Bool {
        guard matcher.isRanked, !draft.hasAdvanced else { return true }
        let snapshot = draft.outgoing.snapshot
        try draft.advance?.run(matcher, rankFilter(link, in: snapshot, isOwn: false))
        guard let rankings = draft.advance?.rankings, rankings.areSure else { return false }
        draft.hasAdvanced = true
        draft.outgoing.rankings = rankings
        draft.entered = Set(rankings.entered(snapshot.catalog))
        let entered = draft.entered.filter { draft.changed[$0] == nil }
        draft.keys = inOrder(draft.keys + entered, snapshot)
        link.sender?.rankings = rankings
        link.sender?.rankings?.discardChanges()
        return true
    }

    /// Selects the documents of a batch; throws `.paused` if the slice is used up.
    private func choose(
        _ draft: inout LimitedSender.Draft, _ matcher: SubscriptionMatcher, _ link: Connection
    ) throws(EngineError) {
        while draft.next < draft.keys.count {
            let key = draft.keys[draft.next]
            let change = draft.changed[key]
            if change?.isOnlyTheirs != true || draft.entered.contains(key) {
                let hasMatched = change?.hasMatched ?? false
                if try concerns(key, hasMatched: hasMatched, &draft.outgoing, link) {
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
                try maySend(document, key, address, draft.outgoing, toLimited: link)
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
        _ key: [UInt8], hasMatched: Bool, _ outgoing: inout Outgoing, _ link: Connection
    ) throws(EngineError) -> Bool {
        let snapshot = outgoing.snapshot
        guard let matcher = link.sender?.matcher, let address = snapshot.address(of: key),
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
        return try maySend(document, key, address, outgoing, toLimited: link)
    }

    /// Whether a document, or its deletion, may be sent to a peer with limited rights.
    package func maySend(
        _ document: StoredDocument, _ key: [UInt8], _ address: DocumentAddress,
        _ outgoing: Outgoing, toLimited link: Connection
    ) throws(EngineError) -> Bool {
        guard document.isTombstone else {
            return try maySend(link, document, before: nil, key, address, outgoing.snapshot)
        }
        guard isShared(address.collection, on: link) else { return false }
        if outgoing.knownDeletions.contains(key) { return true }
        return try mayKnowDeletion(key, address, outgoing.snapshot, link)
    }

    // MARK: Acknowledgments

    /// Records a sent batch until it is acknowledged.
    func recordSentToLimited(_ outgoing: Outgoing, on link: Connection) {
        guard let number = outgoing.number else { return }
        link.sender?.limited.steps.append(
            LimitedSender.Step(
                number: number, commit: outgoing.snapshot.log.commit,
                corrections: outgoing.complete))
    }

    /// Handles the acknowledgment of all batches up to `number`.
    func acknowledgedByLimited(_ link: Connection, _ number: UInt64) {
        guard let limited = link.sender?.limited, let key = link.session.remote?.peerKey else {
            return
        }
        let done = limited.steps.prefix { $0.number <= number }
        let count = done.count
        guard let last = done.last else { return }
        link.sender?.limited.steps.removeFirst(count)
        // A document that has a newer repair is not settled yet.
        let again = limited.named.union(limited.corrections.map(\.address))
            .union(limited.draft?.named ?? [])
        for step in done {
            limitedPeers[key]?.recordCorrected(step.corrections.subtracting(again))
        }
        let acknowledged = link.sender?.acknowledged ?? 0
        link.sender?.acknowledged = max(acknowledged, last.commit)
        handleAcknowledgment(through: last.commit, on: link)
        recordSynced(through: last.commit, link)
        recordSyncedIfIdle(link)
    }

    /// Returns the commit of an unacknowledged batch's snapshot; nil if there is no such batch.
    package func commit(ofStep number: UInt64, _ link: Connection) -> CommitID? {
        guard let telling = link.sender else { return nil }
        if let outgoing = telling.outgoing, outgoing.number == number {
            return outgoing.snapshot.log.commit
        }
        if let parts = telling.parts, parts.number == number { return parts.commit }
        return telling.limited.steps.first { $0.number == number }?.commit
    }

    /// Records that the peer is in sync, if nothing is left to be sent to it.
    func recordSyncedIfIdle(_ link: Connection) {
        guard link.isLimited, let telling = link.sender, telling.isStreaming,
            telling.outgoing == nil, telling.limited.steps.isEmpty, telling.limited.isIdle
        else { return }
        let newest = news.snapshot.log.commit
        link.sender?.acknowledged = newest
        // Batches that repeat documents have the number that follows the commit.
        handleAcknowledgment(through: newest + 1, on: link)
        recordSynced(through: newest, link)
    }
}
