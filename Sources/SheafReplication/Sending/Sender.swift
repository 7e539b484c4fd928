import SheafBytes
package import SheafDocument
package import SheafEngine
package import SheafStorage
import SheafSync

/// The sending half of one connection: the subscription of the peer, and the documents sent for it.
///
/// Events get a `PeerContext` and the `DocumentExchange`, and queue effects for the replicator.
package struct Sender {
    /// An action that the replicator performs after an event.
    enum Effect {
        /// A document that the peer may have refused is sent, with the batch of a commit.
        case sentAgain(DocumentAddress, with: CommitID)
        /// Read repairs are sent with the batch of a commit.
        case sentRepairs(Set<DocumentAddress>, with: CommitID)
        /// The read repair of a document is pending until the peer acknowledges it.
        case repair(DocumentAddress)
        /// The peer wants a document whose local commits this peer may not send.
        case unsendable(DocumentAddress, [CommitID])
        /// The peer refuses these local commits of a document.
        case refused(DocumentAddress, [CommitID], RefusedWrite.Reason)
        /// The peer refuses a number of documents without naming them.
        case refusedOmitted(UInt64, through: CommitID)
        /// The peer has reconciled its subscription with a snapshot; documents up to `sent` were
        /// sent before.
        case compared(DocumentSnapshot, sent: CommitID)
        /// A limited peer has all of its documents up to `synced`; refusals and deliveries up to
        /// the first commit are settled.
        case acknowledged(CommitID, synced: CommitID)
    }

    let matcher: SubscriptionMatcher
    /// A matcher that ignores rights, created on first use.
    var unfiltered: SubscriptionMatcher?
    /// The newest remote commit at the time of the subscription.
    let remoteCommit: UInt64
    /// The local commit up to which all matching documents were sent or are being sent.
    package var sent: CommitID = 0
    var acknowledged: CommitID = 0
    /// Whether `sent` is valid.
    package var isStreaming = false
    /// Whether commits are announced instead of being sent.
    var isAnnouncing = false
    /// Whether the next batch contains all changes since the cursor of the subscription.
    package var isBehind = false
    /// Documents that the next batch must contain complete.
    package var complete: Set<DocumentAddress> = []
    /// Documents to add to `complete` once a local commit is durable.
    var completeLater: [(localCommit: CommitID, address: DocumentAddress)] = []
    /// The snapshot of the version list that was sent.
    package var compared: DocumentSnapshot?
    /// Whether documents may have become visible to the peer since `compared`.
    var isListOutdated = false
    /// Results of queries with LIMIT, in `compared` or when the last batch began.
    var rankings: SubscriptionRankings?
    /// The evaluation that precedes the answer to the peer.
    var preparation: Preparation?
    /// A catch-up batch whose rankings are not complete.
    var catchingUp: CatchUp?
    /// The evaluation of commits that are not sent yet.
    var judging = Judging()
    /// A partially sent batch.
    var outgoing: Outgoing?
    /// Ranges of addresses that the peer also wants, and the number of documents in them.
    var wantedRanges: (ranges: [KeyRange], count: Int) = ([], 0)
    /// Number of documents sent on the connection.
    var documentCount = 0
    /// The commit up to which documents were sent in between the batches of a long one.
    var newerThrough: CommitID = 0
    /// The time at which the replication position is sent, unless a batch is sent before.
    var echoDue: UInt64?
    /// Whether an event makes the pump send, even to a peer with limited rights.
    package var isAwake = false
    /// Whether sending continues in the next iteration.
    package var hasMore = false
    /// Whether the peer may want documents that this peer may not send.
    var isReviewDue = false
    /// State that is needed only for a peer with limited rights.
    var limited = LimitedSender()
    /// The newest document of the reconciled list and of its parts that were sent.
    var newestDocument = NewestDocument()
    /// The commit and number of the parts that were sent before the last `want`.
    var parts: (commit: CommitID, number: UInt64?)?
    /// Deliveries that the peer has not acknowledged.
    var deliveries: [Delivery] = []

    var effects = EffectQueue<Effect>()

    package init(_ matcher: SubscriptionMatcher, from remoteCommit: UInt64) {
        (self.matcher, self.remoteCommit) = (matcher, remoteCommit)
    }

    /// Runs an event; optional chaining to this method changes an optional sender without a copy.
    mutating func run(
        _ event: (inout Sender) throws(EngineError) -> Void
    ) throws(EngineError) {
        try event(&self)
    }

    // MARK: Subscriptions

    /// Begins to send all changes after a cursor, and some documents complete.
    package mutating func begin(from cursor: CommitID, complete: Set<DocumentAddress>) {
        sent = cursor
        (isStreaming, isBehind, isAwake) = (true, true, true)
        self.complete = complete
    }

    /// Whether the pump sends; to a peer with limited rights, only an event makes it send.
    package func isDue(through newest: CommitID, isLimited: Bool) -> Bool {
        guard !isAwake else { return true }
        // The next iteration continues a long batch or an evaluation.
        guard isStreaming, !hasMore, !isLimited else { return false }
        return outgoing != nil || isBehind || !complete.isEmpty || sent < newest
    }

    // MARK: Batches

    /// Makes the peers reconcile, and discards the batches being prepared or sent.
    mutating func restart(on exchange: inout DocumentExchange) {
        exchange.session.restart()
        isStreaming = false
        outgoing = nil
        limited.discardChanges()
        _ = limited.removePart()
        catchingUp = nil
        judging = Judging()
    }

    /// Makes the peers reconcile, now or, if they are doing so, once more.
    mutating func reconcile(on exchange: inout DocumentExchange) {
        if isStreaming { restart(on: &exchange) } else { isListOutdated = true }
    }

    /// Makes the peers reconcile if a snapshot was already used for the peer.
    mutating func reconcileIfBegun(on exchange: inout DocumentExchange) {
        guard isStreaming || compared != nil || preparation != nil else { return }
        reconcile(on: &exchange)
    }

    /// Whether documents of snapshots before a commit remain to be sent.
    package func isPending(before commit: CommitID) -> Bool {
        let states = [
            outgoing?.snapshot, catchingUp?.snapshot, compared, preparation?.snapshot,
            limited.draft?.outgoing.snapshot,
        ]
        if states.contains(where: { $0.map { $0.log.commit < commit } ?? false }) { return true }
        return isStreaming && sent < commit
    }

    /// Returns the commit of an unacknowledged batch's snapshot; nil if there is no such batch.
    func commit(ofStep number: UInt64) -> CommitID? {
        if let outgoing, outgoing.number == number { return outgoing.snapshot.log.commit }
        if let parts, parts.number == number { return parts.commit }
        return limited.steps.first { $0.number == number }?.commit
    }

    /// The newest commit of which the peer can refuse documents.
    package var newestSent: CommitID {
        max(sent, outgoing?.snapshot.log.commit ?? 0, parts?.commit ?? 0)
    }

    // MARK: Read repair

    /// Queues newer documents for a peer that sent older states of them.
    ///
    /// If the older state matched the queries of the peer, the document is sent without a repair.
    mutating func repair(
        _ known: [WriteJob.OutdatedDocument], after localCommit: CommitID?,
        _ context: PeerContext, on exchange: inout DocumentExchange
    ) {
        guard !context.isLimited else {
            return repairLimited(known, after: localCommit, context, on: &exchange)
        }
        let snapshot = context.snapshot
        for document in known where matcher.selects(for: document.address.collection) {
            guard let key = snapshot.key(of: document.address) else { continue }
            // Without a result, because the slice is used up, the document is sent although it need
            // not be.
            let hasMatched = try? matcher.matches(
                document.before, key: key, in: document.address.collection, snapshot.names)
            guard hasMatched != true else { continue }
            effects.append(.repair(document.address))
            queueRepair(of: document.address, after: localCommit, durable: snapshot.log.commit)
        }
    }

    /// Queues the read repairs whose commits have become durable.
    package mutating func queueDurableRepairs(through durable: CommitID) {
        guard !completeLater.isEmpty else { return }
        for (localCommit, address) in completeLater where localCommit <= durable {
            complete.insert(address)
        }
        completeLater.removeAll { $0.localCommit <= durable }
    }

    /// Queues the read repair of a document, immediately or when a local commit is durable.
    package mutating func queueRepair(
        of address: DocumentAddress, after localCommit: CommitID?, durable: CommitID
    ) {
        if let localCommit, localCommit > durable {
            completeLater.append((localCommit, address))
        } else {
            complete.insert(address)
        }
    }

    // MARK: The position of the peer

    /// Delay in nanoseconds before sending a position that only the peer's own commits advanced.
    private static let echoNanoseconds: UInt64 = 100_000_000

    /// Schedules the replication position to be sent, unless a batch is sent before.
    package mutating func schedulePosition(at now: UInt64) {
        guard echoDue == nil else { return }
        echoDue = now + Self.echoNanoseconds
    }

    /// Whether the scheduled position must be sent now; if it is due, it is no longer scheduled.
    ///
    /// It is not sent if a batch is being sent, which contains it.
    package mutating func beginPosition(at now: UInt64) -> Bool {
        guard let due = echoDue, due <= now else { return false }
        echoDue = nil
        return isStreaming && outgoing == nil
    }

    // MARK: Deliveries

    /// Maximum number of unacknowledged deliveries; the last one absorbs further ones.
    private static let maximumDeliveries = 1_024

    /// Records that the peer will have documents of `commit` once it acknowledges `step`.
    package mutating func recordDelivery(of commit: CommitID, with step: CommitID) {
        let delivery = Delivery(step: step, commit: commit)
        if deliveries.count < Self.maximumDeliveries {
            deliveries.append(delivery)
        } else {
            deliveries[deliveries.count - 1] = delivery
        }
    }

    /// Records the delivery of a long batch.
    mutating func recordDelivery(of outgoing: Outgoing) throws(EngineError) {
        let step = outgoing.snapshot.log.commit
        guard let commit = try outgoing.newestDocument.commit(in: outgoing.snapshot) else { return }
        recordDelivery(of: commit, with: outgoing.isRepeated ? step + 1 : step)
    }

    /// Removes the acknowledged deliveries, and returns the newest commit of their documents.
    package mutating func removeDelivered(_ commit: CommitID) -> CommitID? {
        let count = deliveries.prefix { $0.step <= commit }.count
        guard count > 0 else { return nil }
        defer { deliveries.removeFirst(count) }
        return deliveries[..<count].map(\.commit).max()
    }
}
