import SheafBytes
package import SheafDocument
import SheafEngine
package import SheafStorage
import SheafSync

/// The receiving half of one connection: the local subscription, and the documents received for it.
///
/// Events get a `PeerContext` and the `DocumentExchange`, and queue effects for the replicator.
package struct Receiver {
    /// An action that the replicator performs after an event.
    enum Effect {
        /// Writes received batches; `finish` and `conclude` get the outcome.
        case write([PreparedStep])
        /// An empty batch needs no write; this is its outcome.
        case written(WriteJob.Outcome)
        /// Subscribes again, and requests these documents complete.
        case renew(complete: [DocumentAddress])
        /// Subscribes again without a cursor.
        case reconcile
        /// All documents up to a remote commit were received.
        case cursor(UInt64)
        /// Sends newer states of documents to the peer, once a local commit is durable.
        case repair([WriteJob.OutdatedDocument], after: CommitID?)
        /// Documents had arrived from another peer before.
        case repetition
    }

    package var generation: UInt64 = 0
    package var epoch: UInt64 = 0
    /// The hash of the collections named in place of a query of all collections; nil without them.
    var named: UInt64?
    /// The collections that subscriptions of the peer have named, of which none is forgotten.
    ///
    /// Two peers that repeat what the other one has last named could change their subscriptions
    /// without end.
    package private(set) var learned: Set<String> = []
    /// Documents of the partially received batch.
    var staged = SpillBuffer()
    var stagedStamp: Stamp?
    /// The progress of a long batch, or of one in several parts; nil if none is being received.
    var progress: SyncProgress?
    /// Received batches that wait until earlier ones are written.
    var waiting: [PreparedStep] = []
    package var isWriting = false
    /// Size in memory of the batches being written.
    var writingLength = 0
    /// Remote and local commits of written batches that are not acknowledged yet.
    package var written: [(commit: UInt64, localCommit: CommitID)] = []
    /// The remote commit up to which all documents were received.
    var reached: UInt64 = 0
    /// Whether a reconciliation begins once all received documents are durable.
    package var awaitsComparison = false
    /// Whether all documents that matched at the time of the subscription were received.
    package var hasCaughtUp = false
    var announced = Announced()
    /// The check of queries with LIMIT that follows a reconciliation.
    var rankCheck: RankCheck?
    /// The subscription that the rate limiter delays.
    var delayedSubscription: DelayedSubscription?
    /// The subscription in effect on this connection; nil if it is the current one.
    var former: LocalSubscriptions?
    /// Whether the current subscription is sent as soon as the received batches are written.
    package var awaitsRenewal = false
    /// Factor by which a reconciliation exceeds the LIMIT of queries.
    package var rankFactor = 1
    /// Documents that must be received complete before other documents can be written.
    var missing: Set<DocumentAddress> = []
    /// Quarantined documents that were requested again.
    package var retried: Set<DocumentAddress> = []
    /// Whether a reconciliation covers quarantined documents that were not recorded.
    package var reconcilesQuarantine = false
    /// Whether a check of the quarantined documents was skipped on this connection.
    var missesCheck = false
    /// Number of quarantined documents last reported to the peer.
    var reportedQuarantineCount: UInt64 = 0
    /// The peer's queries at the last review of documents that this peer may not send.
    var reviewed: Set<SubscribedQuery> = []
    /// The local commit of the version list that was last reconciled.
    var listed = CommitID.max
    /// Documents that this peer may not send and the peer may lack.
    var disputed = DisputedDocuments()
    var effects = EffectQueue<Effect>()

    package init() {}

    // MARK: Subscriptions

    /// Begins a new subscription; returns the length of the batches that it discards.
    ///
    /// Batches of an older subscription do not define the position in this one.
    package mutating func renew(_ epoch: UInt64) -> Int {
        generation += 1
        if self.epoch != epoch { rankFactor = 1 }
        self.epoch = epoch
        let length = waiting.reduce(0) { $0 + $1.length }
        (waiting, written) = ([], [])
        discardStaged()
        announced = Announced()
        (rankCheck, progress) = (nil, nil)
        (hasCaughtUp, awaitsRenewal, awaitsComparison) = (false, false, false)
        (retried, reconcilesQuarantine) = ([], false)
        return length
    }

    /// Discards the partially received batch.
    mutating func discardStaged() {
        (staged, stagedStamp) = (SpillBuffer(), nil)
    }

    /// Whether a new subscription discards no received documents.
    ///
    /// A subscription that the rate limiter delays has not been answered yet.
    package var isSettled: Bool {
        delayedSubscription != nil || generation == 0 || (hasCaughtUp && isIdle)
    }

    /// Records collections that a subscription of the peer names, as many as one may have.
    package mutating func learn(_ collections: [String]) {
        for name in collections where learned.count < SyncLimits.queries { learned.insert(name) }
    }

    // MARK: Batches

    /// Whether no batch is partially received, waiting or being written.
    package var isIdle: Bool { staged.isEmpty && waiting.isEmpty && !isWriting }

    /// Size in memory of the complete batches that are not written.
    var lengthInMemory: Int {
        waiting.reduce(writingLength) { $0 + $1.documents.lengthInMemory }
    }

    /// Begins a write job, and returns its batches; nil if one is running or there are none.
    mutating func beginWriting() -> [PreparedStep]? {
        guard !isWriting, !waiting.isEmpty else { return nil }
        isWriting = true
        writingLength = waiting.reduce(0) { $0 + $1.documents.lengthInMemory }
        defer { waiting = [] }
        return waiting
    }

    mutating func endWriting() {
        (isWriting, writingLength) = (false, 0)
    }

    /// Removes the written batches that are durable; returns the remote commit of the last one.
    package mutating func removeDurable(through durable: CommitID) -> UInt64? {
        let count = written.prefix { $0.localCommit <= durable }.count
        guard count > 0 else { return nil }
        defer { written.removeFirst(count) }
        return written[count - 1].commit
    }
}
