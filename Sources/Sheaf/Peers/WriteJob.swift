import SheafDocument
import SheafQuery
package import SheafStorage
import SheafSync

/// What a peer has sent, to be written here: step by step, each in one commit.
package struct WriteJob: Sendable {
    package let link: UInt64
    let steps: [PreparedStep]
    let peer: Site
    /// The key of a peer that may not read everything; nil for other peers.
    var limitedPeer: [UInt8]?
    /// What the peer may write; none where that is everything.
    let writable: [SubscriptionQuery]?
    /// What the peer may read; none where that is everything.
    var readable: [SubscriptionQuery]?
    /// Earlier writes of the peer to documents that are hidden from it.
    var shadows = ShadowTable()
    /// Documents that were received from the peer before, and written.
    var brought = BroughtDocuments()
    /// Documents that were set aside before, and are noted if they are written now.
    var awaited: Set<DocumentAddress> = []
    /// Instead of steps: has the store go on as another site, and gives it the writes after a time.
    var separation: (site: Site, after: HybridTime)?
    /// Documents that the peer may have refused, and are noted if what it sends covers what is here.
    var disputed: Set<DocumentAddress> = []
    /// The evaluation budget of a peer that may not write everything; evaluations of its write rule lower it.
    var budget: EvaluationMeter?
    /// What ends the job before it is done; the step that it interrupts leaves the store untouched.
    var stop: EvaluationStop?
    /// Tokens for which a proof was given; a job that has some has no steps.
    var proven: [UnprovenToken] = []

    /// What became of it.
    package struct Outcome: Sendable {
        package let link: UInt64
        let generation: UInt64
        /// The bytes that came for it, for which there is credit again.
        let length: Int
        /// The last commit of the peer that was applied, and the commit here that answers for it.
        fileprivate(set) var applied: (commit: UInt64, here: CommitID)?
        /// The commit here that has all that was written.
        fileprivate(set) var lastCommit: CommitID?
        /// What is needed whole, since something is missing here that it stands on; the step with it, and
        /// those behind it, were not applied.
        fileprivate(set) var gaps: [DocumentAddress] = []
        /// Documents of which more is known here than the peer has, and how they were before.
        fileprivate(set) var known: [Known] = []
        /// Documents that the peer may not write, which were passed over.
        fileprivate(set) var refused: [Refused] = []
        /// Disputed documents of which the peer has sent all that is here.
        fileprivate(set) var covered: Set<DocumentAddress> = []
        /// The last writes to documents that are hidden from the peer.
        var hidden: [Hidden] = []
        /// Number of dropped writes to hidden documents, and the document of the last one.
        var dropped: (count: Int, last: DocumentAddress)?
        /// Documents with a shadow that are no longer hidden from the peer.
        var revealed: Set<DocumentAddress> = []
        /// The key of the peer if it may not read everything.
        var limitedPeer: [UInt8]?
        /// The last documents that were received from that peer and written.
        var brought: [DocumentAddress] = []
        /// Documents with a time too far ahead of the clock here, which were not written, and that time.
        fileprivate(set) var ahead = AheadDocuments()
        /// Documents that were set aside before, and are here now.
        fileprivate(set) var settled: [DocumentAddress] = []
        fileprivate(set) var error: EngineError?
        /// How many documents came, and how many of them said something new.
        fileprivate(set) var documentCount = 0
        fileprivate(set) var takenCount = 0
        fileprivate(set) var isNew = false
        /// Whether the peer knows writes of this store that it has never made.
        fileprivate(set) var lacksOwnWrites = false
        /// Documents whose writes could not be assigned to the new site of the store.
        fileprivate(set) var unmoved: [UnmovedDocument] = []
        /// Whether the job was to have the store go on as another site, and wrote nothing of a peer.
        fileprivate(set) var isSeparation = false
        /// The time of a write that the peer has made and does not have any more; the step that would cover it, and
        /// those after it, were not applied.
        fileprivate(set) var forgottenByPeer: HybridTime?
        /// What became of writes that their store has forgotten.
        fileprivate(set) var forgotten = ForgottenWrites()
        /// Whether a step has brought documents, and nothing new.
        fileprivate(set) var hasRepetition = false
        /// Whether the job marked tokens as proven, and wrote nothing of a peer.
        fileprivate(set) var isOfProof = false
        /// Units by which the write rule lowers the budget of the peer.
        fileprivate(set) var ruleUnits = 0
        fileprivate(set) var budget: EvaluationMeter?

        /// Lowers the budget of the peer; called on the thread that evaluates its queries.
        func chargeBudget() { budget?.use(ruleUnits) }

        /// A step without documents was written: everything is here when a commit here is durable.
        static func nothing(
            _ step: ShippedStep, on link: UInt64, behind here: CommitID
        ) -> Outcome {
            var outcome = Outcome(link: link, generation: step.generation, length: step.length)
            if !step.isCut { outcome.applied = (step.commit, here) }
            return outcome
        }
    }

    /// A document that is hidden from the peer that has written it.
    struct Hidden: Sendable {
        let address: DocumentAddress
        let write: HiddenWrite
        /// The commit of the peer that has written it.
        var commit: UInt64 = 0
    }

    /// A document of which more is known here than the peer has.
    struct Known: Sendable {
        let address: DocumentAddress
        let before: StoredDocument?
        /// Whether some of the writes that the peer lacks are this store's.
        var lacksOwn = false
    }

    /// A document that the peer may not write.
    struct Refused: Sendable {
        let address: DocumentAddress
        let reason: RefusedNotice.Reason
        /// The commit of its step in the log of the peer.
        var commit: UInt64 = 0
    }

    /// Writes all of it; to be called by whoever may write.
    package func run(
        _ queries: QueryEngine, append: (WriteBatch) throws(StorageError) -> CommitID
    ) -> Outcome {
        var outcome = Outcome(
            link: link, generation: steps.first?.generation ?? 0,
            length: steps.reduce(0) { $0 + $1.length })
        outcome.limitedPeer = limitedPeer
        if let separation { return separate(separation, queries, append, outcome) }
        guard proven.isEmpty else { return prove(queries, append) }
        // Another thread may lower the budget meanwhile.
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
                if let time = reception.forgottenByPeer {
                    outcome.forgottenByPeer = time
                    return
                }
                guard reception.gaps.isEmpty else {
                    outcome.gaps = reception.gaps
                    return
                }
                outcome.known += reception.known
                outcome.forgotten += reception.forgotten
                for var refused in reception.refused {
                    refused.commit = step.commit
                    outcome.refused.append(refused)
                }
                outcome.covered.formUnion(reception.covered)
                outcome.take(reception, of: step.commit, &rule)
                outcome.ahead.add(reception.ahead)
                outcome.settled += reception.settled
                outcome.lastCommit = commit
                // What is cut says nothing of how far the peer has told.
                if !step.isCut { outcome.applied = (step.commit, commit) }
                outcome.documentCount += step.documents.count
                outcome.takenCount += reception.takenCount
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
        let readRule = readable ?? []
        let readable = SubscriptionMatcher(rule: readRule, queries, stop: stop)
        return WriteRule(
            writable: SubscriptionMatcher(
                writable, queries, meter: meter, where: nil, chargesLength: false,
                errorPolicy: .mismatchingWithinLimits),
            freelyWritable: SubscriptionMatcher(rule: writable, queries, stop: stop),
            readable: readable,
            deletions: DeletionRule(
                readable: readable,
                readableByID: SubscriptionMatcher(
                    rule: readRule.filter(\.isDecidedByID), queries, stop: stop),
                brought: brought),
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
    /// Marks tokens as proven for which a proof was given.
    private func prove(
        _ queries: QueryEngine, _ append: (WriteBatch) throws(StorageError) -> CommitID
    ) -> Outcome {
        var outcome = Outcome(link: link, generation: 0, length: 0)
        outcome.isOfProof = true
        do throws(EngineError) {
            outcome.lastCommit = try queries.documents.prove(proven, append: append)
        } catch {
            outcome.error = error
        }
        return outcome
    }
}

extension DocumentEngine {
    struct Reception {
        var gaps: [DocumentAddress] = []
        var known: [WriteJob.Known] = []
        var refused: [WriteJob.Refused] = []
        var covered: [DocumentAddress] = []
        var hidden: [WriteJob.Hidden] = []
        var dropped: (count: Int, last: DocumentAddress)?
        var brought: [DocumentAddress] = []
        var revealed: [DocumentAddress] = []
        var ahead = AheadDocuments()
        var settled: [DocumentAddress] = []
        var takenCount = 0
        var isNew = false
        /// Whether the peer knows writes of this store that it has never made.
        var lacksOwnWrites = false
        /// With it: the time up to which the writes of this store are unique.
        var uniqueThrough: HybridTime?
        /// Documents whose writes could not be assigned to the new site of this store.
        var unmoved: [UnmovedDocument] = []
        /// What became of writes that their store has forgotten.
        var forgotten = ForgottenWrites()
        /// A write that the peer has made and does not have any more.
        var forgottenByPeer: HybridTime?
    }

    /// Thrown to take back what was done of a step that cannot be applied.
    private static let takeBack = WriteError.engine(.gap(collection: "", id: .null))

    /// Makes one commit of a step that a peer has sent; or none where something is missing that it stands
    /// on.
    func receive(
        _ step: PreparedStep, from peer: Site, _ pauses: [WritePause] = [],
        _ rule: WriteRule?, _ watched: WatchedDocuments = WatchedDocuments(),
        until stop: EvaluationStop? = nil, hasSeparated: Bool = false,
        append: (WriteBatch) throws(StorageError) -> CommitID
    ) throws(EngineError) -> (CommitID, Reception) {
        let stamp = step.stamp ?? Stamp(.initial, peer)
        let origin = CommitOrigin(stamp: stamp, peer: peer, commit: step.commit)
        var reception = Reception()
        do throws(WriteError) {
            let (commit, _) = try write(from: origin, append: append) {
                (transaction) throws(WriteError) in
                if !pauses.isEmpty { transaction.peerPauses = (peer, pauses) }
                transaction.unproven.bringer = step.bringer
                transaction.connection = step.connection
                try Self.receive(
                    step.documents, rule, watched, until: stop, in: &transaction, &reception)
                reception.forgotten = transaction.forgotten
                reception.forgottenByPeer = transaction.forgottenByPeer
                if transaction.forgottenByPeer != nil { throw Self.takeBack }
                if transaction.lacksOwnWrites, !hasSeparated {
                    reception.lacksOwnWrites = true
                    reception.uniqueThrough = transaction.uniqueThrough
                    throw Self.takeBack
                }
                if !reception.gaps.isEmpty { throw Self.takeBack }
                reception.isNew = transaction.hasChanges
            }
            return (commit, reception)
        } catch {
            if reception.forgottenByPeer != nil { return (0, reception) }
            if reception.lacksOwnWrites {
                return try receiveSeparated(
                    step, from: peer, after: reception.uniqueThrough, rule, watched, until: stop,
                    append: append)
            }
            if !reception.gaps.isEmpty { return (0, reception) }
            switch error {
            case .engine(let error): throw error
            case .query: preconditionFailure("What peers send asks no questions.")
            }
        }
    }

    /// Receives a step again, as another site than the one whose writes the peer knows better.
    private func receiveSeparated(
        _ step: PreparedStep, from peer: Site, after time: HybridTime?,
        _ rule: WriteRule?, _ watched: WatchedDocuments, until stop: EvaluationStop?,
        append: (WriteBatch) throws(StorageError) -> CommitID
    ) throws(EngineError) -> (CommitID, Reception) {
        let separation = try separate(after: time, append: append)
        var (commit, reception) = try receive(
            step, from: peer, [], rule, watched, until: stop, hasSeparated: true,
            append: append)
        reception.lacksOwnWrites = true
        reception.unmoved = separation?.unmoved ?? []
        return (commit, reception)
    }

    private static func receive(
        _ documents: DocumentPile, _ rule: WriteRule?,
        _ watched: WatchedDocuments, until stop: EvaluationStop?,
        in transaction: inout DocumentTransaction,
        _ reception: inout Reception
    ) throws(WriteError) {
        transaction.fresh.reserve(documents.count)
        var collection: UInt16 = 0
        do throws(EngineError) {
            try documents.forEach { (document) throws(EngineError) in
                do throws(QueryError) { try stop?.check() } catch { throw .evaluation(error) }
                if document.beginsCollection {
                    collection = try transaction.number(ofCollection: document.collection)
                }
                let key = DocumentKey(StoreKey.document(collection, id: document.id))
                switch try transaction.receive(document, key, rule) {
                case .gap: reception.gaps.append(document.address)
                case .taken(let isNew):
                    if isNew { reception.takenCount += 1 }
                    reception.settle(document, watched)
                    reception.cover(document, watched)
                    if let rule { reception.bring(document, try transaction.exists(key), rule) }
                case .ahead(let time): reception.ahead.add(document.address, time)
                case .known(let before, let lacksOwn):
                    reception.settle(document, watched)
                    if let rule { reception.bring(document, try transaction.exists(key), rule) }
                    reception.known.append(
                        WriteJob.Known(
                            address: document.address, before: before, lacksOwn: lacksOwn))
                case .kept(let isSeen):
                    if !isSeen { reception.refuse(document, .original) }
                case .refused(let before, let reason):
                    reception.refuse(document, reason)
                    // The peer is told how it is here, as far as it may see that.
                    reception.known.append(
                        WriteJob.Known(address: document.address, before: before))
                case .hidden(let write): reception.hide(document, write, watched)
                }
            }
        } catch {
            throw .engine(error)
        }
    }
}
