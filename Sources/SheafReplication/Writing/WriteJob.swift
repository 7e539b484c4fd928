package import SheafDocument
import SheafEngine
package import SheafQuery
package import SheafStatements
package import SheafStorage
package import SheafSync
package import SheafSystem

/// Batches received from a peer, each written in one commit; or a change of sites, of tokens or of
/// the progress in a hub log.
package struct WriteJob: Sendable {
    package let connection: UInt64
    package let steps: [PreparedStep]
    package let peer: Site
    /// The key of a peer with limited read rights; nil for other peers.
    var limitedPeer: [UInt8]?
    /// The write rule of the peer; nil if unlimited.
    let writable: [SubscriptionQuery]?
    /// The read rule of the peer; nil if unlimited.
    var readable: [SubscriptionQuery]?
    /// Earlier writes of the peer to documents that are hidden from it.
    var shadows = ShadowTable()
    /// Documents received from the peer and written before.
    var received = ReceivedDocuments()
    /// Quarantined documents, which are recorded if they are written.
    var awaited: Set<DocumentAddress> = []
    /// The site to replace with a new one, to which writes after the time are moved.
    ///
    /// A job with a separation has no batches.
    var separation: (site: Site, after: HybridTime)?
    /// Documents that the peer may have refused; recorded if its batches cover the local states.
    var disputed: Set<DocumentAddress> = []
    /// The evaluation budget of a peer with limited write rights, charged for its write rule.
    var budget: EvaluationMeter?
    /// Flag that cancels the job; an interrupted batch leaves the store unchanged.
    package var stop: EvaluationStop?
    /// Proven tokens; a job with proven tokens has no batches.
    var proven: [UnprovenToken] = []
    /// Progress in shards of the hub log; a job with progress has no batches.
    var storedShards: [(number: UInt16, stored: StoredShard)] = []

    /// The result of a job.
    package struct Outcome: Sendable {
        package let connection: UInt64
        let generation: UInt64
        /// Number of bytes received for the job, to be credited to the peer.
        let length: Int
        /// The last applied commit of the peer, and the local commit that contains it.
        fileprivate(set) var applied: (commit: UInt64, localCommit: CommitID)?
        /// The progress in shards of the hub log that the job has written.
        fileprivate(set) var storedShards: [(number: UInt16, stored: StoredShard)] = []
        /// The last local commit of the job.
        package fileprivate(set) var lastCommit: CommitID?
        /// Documents needed in full, since the base of a received delta is missing.
        ///
        /// Their batch and later ones were not applied.
        fileprivate(set) var gaps: [DocumentAddress] = []
        /// Documents with local writes that the peer lacks, and their former states.
        fileprivate(set) var outdated: [OutdatedDocument] = []
        /// Received documents that were not written, since the peer may not write them.
        fileprivate(set) var refused: [Refused] = []
        /// Disputed documents of which the peer has sent all local writes.
        fileprivate(set) var covered: Set<DocumentAddress> = []
        /// The last writes to documents that are hidden from the peer.
        var hidden: [Hidden] = []
        /// Number of dropped writes to hidden documents, and the document of the last one.
        var dropped: (count: Int, last: DocumentAddress)?
        /// Documents with a shadow that the peer may read after the job.
        var revealed: Set<DocumentAddress> = []
        /// The key of the peer if it has limited read rights.
        var limitedPeer: [UInt8]?
        /// The last documents received from the limited peer and written.
        var received: [DocumentAddress] = []
        /// Documents to quarantine, with the times that are too far ahead of the local clock.
        fileprivate(set) var ahead = AheadDocuments()
        /// Formerly quarantined documents that were written.
        fileprivate(set) var settled: [DocumentAddress] = []
        fileprivate(set) var error: EngineError?
        /// Number of documents received; `appliedCount` of them changed the store.
        fileprivate(set) var documentCount = 0
        fileprivate(set) var appliedCount = 0
        /// Number of bytes of the received documents.
        fileprivate(set) var documentLength = 0
        fileprivate(set) var isNew = false
        /// Whether the peer has writes of this store's site that the store does not have.
        fileprivate(set) var lacksOwnWrites = false
        /// Documents whose writes could not be assigned to the new site of the store.
        fileprivate(set) var unmoved: [UnmovedDocument] = []
        /// Whether the job replaced the site of the store instead of applying batches.
        fileprivate(set) var isSeparation = false
        /// Time of a write that the peer has made and lost.
        ///
        /// The batch that would cover the write and later ones were not applied.
        fileprivate(set) var lostByPeer: HybridTime?
        /// Documents with writes that were lost by the store that made them.
        fileprivate(set) var lostWrites = LostWrites()
        /// Whether a batch contained documents but changed nothing.
        fileprivate(set) var hasRepetition = false
        /// Whether the job marked tokens as proven instead of applying batches.
        fileprivate(set) var isOfProof = false
        /// Whether the job applied batches.
        var hasBatches: Bool { !isSeparation && !isOfProof }
        /// Evaluation units by which the job lowers the budget of the peer.
        fileprivate(set) var ruleUnits = 0
        fileprivate(set) var budget: EvaluationMeter?

        /// Lowers the budget of the peer; must be called on the thread that evaluates its queries.
        func chargeBudget() { budget?.use(ruleUnits) }

        /// Returns the outcome of an empty batch, acknowledged once `localCommit` is durable.
        static func nothing(
            _ step: ShippedStep, on connection: UInt64, after localCommit: CommitID
        ) -> Outcome {
            var outcome = Outcome(
                connection: connection, generation: step.generation, length: step.length)
            if !step.isCut { outcome.applied = (step.commit, localCommit) }
            return outcome
        }
    }

    /// A write of the peer to a document that is hidden from it.
    struct Hidden: Sendable {
        package let address: DocumentAddress
        package let write: HiddenWrite
        /// The commit of the peer that contains the write.
        package var commit: UInt64 = 0
    }

    /// A document with local writes that the peer lacks.
    struct OutdatedDocument: Sendable {
        package let address: DocumentAddress
        let before: StoredDocument?
        /// Whether this store made some of the writes that the peer lacks.
        var lacksOwn = false
    }

    /// A document that the peer may not write.
    package struct Refused: Sendable {
        package let address: DocumentAddress
        package let reason: RefusedNotice.Reason
        /// The commit of the peer whose batch contains the document.
        package var commit: UInt64

        package init(
            address: DocumentAddress, reason: RefusedNotice.Reason, commit: UInt64 = 0
        ) {
            (self.address, self.reason, self.commit) = (address, reason, commit)
        }
    }

    /// Runs the job; must be called by the current writer.
    package func run(
        _ queries: QueryEngine, append: (WriteBatch) throws(StorageError) -> CommitID
    ) -> Outcome {
        var outcome = Outcome(
            connection: connection, generation: steps.first?.generation ?? 0,
            length: steps.reduce(0) { $0 + $1.length })
        outcome.limitedPeer = limitedPeer
        if let separation { return separate(separation, queries, append, outcome) }
        guard proven.isEmpty else { return prove(queries, append) }
        guard storedShards.isEmpty else { return save(queries, append) }
        // Another thread may lower the budget concurrently.
        let units = budget?.units ?? 0
        let meter = EvaluationMeter(units, stop: stop)
        outcome.budget = budget
        write(queries, meter, append, &outcome)
        outcome.ruleUnits = max(0, units - meter.units)
        return outcome
    }

    private func write(
        _ queries: QueryEngine, _ meter: EvaluationMeter,
        _ append: (WriteBatch) throws(StorageError) -> CommitID, _ outcome: inout Outcome
    ) {
        var rule = writeRule(queries, meter)
        let watched = WatchedDocuments(awaited: awaited, disputed: disputed)
        for step in steps {
            let free = SyncLimits.ruleUnitsOnDocument * step.documents.count
            meter.add(free, maximum: .max)
            do throws(EngineError) {
                let (commit, reception) = try queries.documents.receive(
                    step, from: peer, step.pauses, rule, watched, until: stop, append: append)
                if reception.lacksOwnWrites { outcome.lacksOwnWrites = true }
                outcome.unmoved += reception.unmoved
                if let time = reception.lostByPeer {
                    outcome.lostByPeer = time
                    return
                }
                guard reception.gaps.isEmpty else {
                    outcome.gaps = reception.gaps
                    return
                }
                outcome.ahead.add(reception.ahead)
                // Documents of the hub log wait for their times, together with later ones.
                if step.storedShard != nil, !reception.ahead.isEmpty { return }
                outcome.outdated += reception.outdated
                outcome.lostWrites += reception.lostWrites
                for var refused in reception.refused {
                    refused.commit = step.commit
                    outcome.refused.append(refused)
                }
                outcome.covered.formUnion(reception.covered)
                outcome.take(reception, of: step.commit, &rule)
                outcome.settled += reception.settled
                outcome.lastCommit = commit
                if reception.isNew, let shard = step.storedShard {
                    outcome.storedShards.append(shard)
                }
                // An incomplete commit does not advance the replication cursor.
                if !step.isCut { outcome.applied = (step.commit, commit) }
                outcome.documentCount += step.documents.count
                outcome.documentLength += step.documents.length
                outcome.appliedCount += reception.appliedCount
                outcome.isNew = outcome.isNew || reception.isNew
                if !reception.isNew, !step.documents.isEmpty, reception.refused.isEmpty,
                    reception.ahead.isEmpty, reception.hidden.isEmpty
                {
                    outcome.hasRepetition = true
                }
            } catch {
                outcome.error = error
                return
            }
        }
    }

    private func writeRule(_ queries: QueryEngine, _ meter: EvaluationMeter) -> WriteRule? {
        guard let writable else { return nil }
        return Self.writeRule(
            writable, readable: readable ?? [], shadows, received, queries, meter, stop: stop)
    }

    /// Returns the rules for the writes of a peer; `meter` limits the evaluation of the first one.
    package static func writeRule(
        _ writable: [SubscriptionQuery], readable readRule: [SubscriptionQuery],
        _ shadows: ShadowTable, _ received: ReceivedDocuments, _ queries: QueryEngine,
        _ meter: EvaluationMeter, stop: EvaluationStop?
    ) -> WriteRule {
        let readable = SubscriptionMatcher(rule: readRule, queries, stop: stop)
        return WriteRule(
            writable: SubscriptionMatcher(
                writable, queries, meter: meter, where: nil, chargesLength: false,
                errorPolicy: .mismatchingWithinLimits),
            unmeteredWritable: SubscriptionMatcher(rule: writable, queries, stop: stop),
            readable: readable,
            deletions: DeletionRule(
                readable: readable,
                readableByID: SubscriptionMatcher(
                    rule: readRule.filter(\.isDecidedByID), queries, stop: stop),
                received: received),
            shadows: shadows)
    }

    private func separate(
        _ separation: (site: Site, after: HybridTime), _ queries: QueryEngine,
        _ append: (WriteBatch) throws(StorageError) -> CommitID, _ outcome: Outcome
    ) -> Outcome {
        var outcome = outcome
        outcome.isSeparation = true
        do throws(EngineError) {
            let separation = try queries.documents.separate(
                from: separation.site, after: separation.after, append: append)
            outcome.lastCommit = separation?.commit
            outcome.unmoved = separation?.unmoved ?? []
            outcome.lacksOwnWrites = separation != nil
        } catch {
            outcome.error = error
        }
        return outcome
    }
}

extension WriteJob {
    /// Marks the tokens in `proven` as proven, in one commit.
    private func prove(
        _ queries: QueryEngine, _ append: (WriteBatch) throws(StorageError) -> CommitID
    ) -> Outcome {
        var outcome = Outcome(connection: connection, generation: 0, length: 0)
        outcome.isOfProof = true
        do throws(EngineError) {
            outcome.lastCommit = try queries.documents.markProven(proven, append: append)
        } catch {
            outcome.error = error
        }
        return outcome
    }

    /// Writes the progress in shards of the hub log, in one commit.
    private func save(
        _ queries: QueryEngine, _ append: (WriteBatch) throws(StorageError) -> CommitID
    ) -> Outcome {
        var outcome = Outcome(connection: connection, generation: 0, length: 0)
        do throws(EngineError) {
            let (commit, _) = try queries.documents.write(from: nil, append: append) {
                $0.storedShards = storedShards
                $0.savesShards = true
            }
            outcome.lastCommit = commit
            outcome.storedShards = storedShards
        } catch {
            outcome.error = error
        }
        return outcome
    }
}
