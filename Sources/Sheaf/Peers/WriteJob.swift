import SheafDocument
package import SheafStorage
import SheafSync

/// What a peer has sent, to be written here: step by step, each in one commit.
package struct WriteJob: Sendable {
    package let link: UInt64
    let steps: [PreparedStep]
    let peer: Site
    /// What the peer may write; none where that is everything.
    let writable: [SubscriptionQuery]?
    /// Documents that were set aside before, and are noted if they are written now.
    var awaited: Set<DocumentAddress> = []

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
        /// Documents that the peer may not write as they are here, which it could not know.
        fileprivate(set) var refused: [DocumentAddress] = []
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
        /// Whether a step has brought documents, and nothing new.
        fileprivate(set) var hasRepetition = false

        /// A step without documents was written: everything is here when a commit here is durable.
        static func nothing(
            _ step: ShippedStep, on link: UInt64, behind here: CommitID
        ) -> Outcome {
            var outcome = Outcome(link: link, generation: step.generation, length: step.length)
            if !step.isCut { outcome.applied = (step.commit, here) }
            return outcome
        }
    }

    /// A document of which more is known here than the peer has.
    struct Known: Sendable {
        let address: DocumentAddress
        let before: StoredDocument?
    }

    /// Writes all of it; to be called by whoever may write.
    package func run(
        _ queries: QueryEngine, append: (WriteBatch) throws(StorageError) -> CommitID
    ) -> Outcome {
        var outcome = Outcome(
            link: link, generation: steps.first?.generation ?? 0,
            length: steps.reduce(0) { $0 + $1.length })
        let rule = writable.map { SubscriptionMatcher($0, queries) }
        for step in steps {
            do throws(EngineError) {
                let (commit, reception) = try queries.documents.receive(
                    step, from: peer, rule, awaited, append: append)
                if reception.lacksOwnWrites { outcome.lacksOwnWrites = true }
                guard reception.gaps.isEmpty else {
                    outcome.gaps = reception.gaps
                    return outcome
                }
                outcome.known += reception.known
                outcome.refused += reception.refused
                outcome.ahead.add(reception.ahead)
                outcome.settled += reception.settled
                outcome.lastCommit = commit
                // What is cut says nothing of how far the peer has told.
                if !step.isCut { outcome.applied = (step.commit, commit) }
                outcome.documentCount += step.documents.count
                outcome.takenCount += reception.takenCount
                outcome.isNew = outcome.isNew || reception.isNew
                if !reception.isNew, !step.documents.isEmpty, reception.refused.isEmpty,
                    reception.ahead.isEmpty
                {
                    outcome.hasRepetition = true
                }
            } catch {
                outcome.error = error
                return outcome
            }
        }
        return outcome
    }
}

extension DocumentEngine {
    struct Reception {
        var gaps: [DocumentAddress] = []
        var known: [WriteJob.Known] = []
        var refused: [DocumentAddress] = []
        var ahead = AheadDocuments()
        var settled: [DocumentAddress] = []
        var takenCount = 0
        var isNew = false
        /// Whether the peer knows writes of this store that it has never made.
        var lacksOwnWrites = false

        /// Notes a document that was set aside before, and is here now.
        mutating func settle(_ document: PiledDocument, _ awaited: Set<DocumentAddress>) {
            guard !awaited.isEmpty, awaited.contains(document.address) else { return }
            settled.append(document.address)
        }
    }

    /// Thrown to take back what was done of a step that cannot be applied.
    private static let takeBack = WriteError.engine(.gap(collection: "", id: .null))

    /// Makes one commit of a step that a peer has sent; or none where something is missing that it stands
    /// on.
    func receive(
        _ step: PreparedStep, from peer: Site, _ rule: SubscriptionMatcher?,
        _ awaited: Set<DocumentAddress> = [], hasSeparated: Bool = false,
        append: (WriteBatch) throws(StorageError) -> CommitID
    ) throws(EngineError) -> (CommitID, Reception) {
        let stamp = step.stamp ?? Stamp(.initial, peer)
        let origin = CommitOrigin(stamp: stamp, peer: peer, commit: step.commit)
        var reception = Reception()
        do throws(WriteError) {
            let (commit, _) = try write(from: origin, append: append) {
                (transaction) throws(WriteError) in
                try Self.receive(step.documents, rule, awaited, in: &transaction, &reception)
                if transaction.lacksOwnWrites, !hasSeparated {
                    reception.lacksOwnWrites = true
                    throw Self.takeBack
                }
                if !reception.gaps.isEmpty { throw Self.takeBack }
                reception.isNew = transaction.hasChanges
            }
            return (commit, reception)
        } catch {
            if reception.lacksOwnWrites {
                return try receiveSeparated(step, from: peer, rule, awaited, append: append)
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
        _ step: PreparedStep, from peer: Site, _ rule: SubscriptionMatcher?,
        _ awaited: Set<DocumentAddress>, append: (WriteBatch) throws(StorageError) -> CommitID
    ) throws(EngineError) -> (CommitID, Reception) {
        do throws(WriteError) { try separate(append: append) } catch {
            switch error {
            case .engine(let error): throw error
            case .query: preconditionFailure("To go on as another site asks no questions.")
            }
        }
        var (commit, reception) = try receive(
            step, from: peer, rule, awaited, hasSeparated: true, append: append)
        reception.lacksOwnWrites = true
        return (commit, reception)
    }

    private static func receive(
        _ documents: DocumentPile, _ rule: SubscriptionMatcher?,
        _ awaited: Set<DocumentAddress>, in transaction: inout DocumentTransaction,
        _ reception: inout Reception
    ) throws(WriteError) {
        transaction.fresh.reserve(documents.count)
        var collection: UInt16 = 0
        do throws(EngineError) {
            try documents.forEach { (document) throws(EngineError) in
                if document.beginsCollection {
                    collection = try transaction.number(ofCollection: document.collection)
                }
                let key = DocumentKey(StoreKey.document(collection, id: document.id))
                switch try transaction.receive(document, key, rule) {
                case .gap: reception.gaps.append(document.address)
                case .taken(let isNew):
                    if isNew { reception.takenCount += 1 }
                    reception.settle(document, awaited)
                case .ahead(let time): reception.ahead.add(document.address, time)
                case .known(let before):
                    reception.settle(document, awaited)
                    reception.known.append(
                        WriteJob.Known(address: document.address, before: before))
                case .refused(let before):
                    reception.refused.append(document.address)
                    // The peer is told how it is here, as far as it may see that.
                    reception.known.append(
                        WriteJob.Known(address: document.address, before: before))
                }
            }
        } catch {
            throw .engine(error)
        }
    }
}

/// Documents that are stamped too far ahead of the clock: some of them, and how many more there are.
package struct AheadDocuments: Sendable {
    private(set) var documents: [(address: DocumentAddress, time: HybridTime)] = []
    /// Number of the others, and the earliest time of them.
    private(set) var omitted: (count: Int, earliest: HybridTime)?

    var isEmpty: Bool { documents.isEmpty && omitted == nil }

    mutating func add(_ address: DocumentAddress, _ time: HybridTime) {
        guard documents.count < SetAsideTable.most else { return omit(1, time) }
        documents.append((address, time))
    }

    mutating func add(_ others: AheadDocuments) {
        for (address, time) in others.documents { add(address, time) }
        if let (count, earliest) = others.omitted { omit(count, earliest) }
    }

    private mutating func omit(_ count: Int, _ time: HybridTime) {
        omitted = ((omitted?.count ?? 0) + count, min(omitted?.earliest ?? time, time))
    }
}
