import SheafDocument
package import SheafStorage
import SheafSync

/// What a peer has sent, to be written here: step by step, each in one commit.
package struct WriteJob: Sendable {
    package let link: UInt64
    let steps: [ShippedStep]
    let peer: Site

    /// What became of it.
    package struct Outcome: Sendable {
        package let link: UInt64
        let generation: UInt64
        /// The bytes that came for it, for which there is credit again.
        let length: Int
        /// The last commit of the peer that was applied, and the commit here that answers for it.
        fileprivate(set) var applied: (commit: UInt64, here: CommitID)?
        /// What is needed whole, since something is missing here that it stands on; the step with it, and
        /// those behind it, were not applied.
        fileprivate(set) var gaps: [DocumentAddress] = []
        /// Documents of which more is known here than the peer has, and how they were before.
        fileprivate(set) var known: [Known] = []
        fileprivate(set) var error: EngineError?
    }

    /// A document of which more is known here than the peer has.
    struct Known: Sendable {
        let address: DocumentAddress
        let before: StoredDocument?
    }

    /// Writes all of it; to be called by whoever may write.
    package func run(
        _ engine: DocumentEngine, append: (WriteBatch) throws(StorageError) -> CommitID
    ) -> Outcome {
        var outcome = Outcome(
            link: link, generation: steps.first?.generation ?? 0,
            length: steps.reduce(0) { $0 + $1.length })
        for step in steps {
            do throws(EngineError) {
                let (commit, reception) = try engine.receive(step, from: peer, append: append)
                guard reception.gaps.isEmpty else {
                    outcome.gaps = reception.gaps
                    return outcome
                }
                outcome.known += reception.known
                outcome.applied = (step.commit, commit)
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
    }

    /// Thrown to take back what was done of a step that cannot be applied.
    private static let takeBack = WriteError.engine(.gap(collection: "", id: .null))

    /// Makes one commit of a step that a peer has sent; or none where something is missing that it stands
    /// on.
    func receive(
        _ step: ShippedStep, from peer: Site,
        append: (WriteBatch) throws(StorageError) -> CommitID
    ) throws(EngineError) -> (CommitID, Reception) {
        let stamp = step.commits.first?.stamp ?? Stamp(.initial, peer)
        let origin = CommitOrigin(stamp: stamp, peer: peer, commit: step.commit)
        var reception = Reception()
        do throws(WriteError) {
            let (commit, _) = try write(from: origin, append: append) {
                (transaction) throws(WriteError) in
                for shipped in step.commits {
                    for document in shipped.documents {
                        try Self.receive(document, in: &transaction, &reception)
                    }
                }
                if !reception.gaps.isEmpty { throw Self.takeBack }
            }
            return (commit, reception)
        } catch {
            if !reception.gaps.isEmpty { return (0, reception) }
            switch error {
            case .engine(let error): throw error
            case .query: preconditionFailure("What peers send asks no questions.")
            }
        }
    }

    private static func receive(
        _ document: ShippedDocument, in transaction: inout DocumentTransaction,
        _ reception: inout Reception
    ) throws(WriteError) {
        let address = DocumentAddress(collection: document.collection, id: document.id)
        do throws(EngineError) {
            switch try transaction.receive(document) {
            case .gap: reception.gaps.append(address)
            case .taken: break
            case .known(let before):
                reception.known.append(WriteJob.Known(address: address, before: before))
            }
        } catch {
            throw .engine(error)
        }
    }
}
