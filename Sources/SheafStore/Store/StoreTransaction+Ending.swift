import SheafDocument
import SheafStorage
import Synchronization

/// Ending a transaction before its block returns.
extension StoreTransaction {
    /// The way in which a call within the block ended the transaction.
    enum ExplicitEnding: Sendable {
        /// Committed; the commit is nil if the transaction is read-only.
        case committed(CommitID?)
        case rolledBack
        /// The commit failed, and no change is kept.
        case failed(StoreError)
    }

    /// Ends the transaction while its block runs; every later use of it throws.
    ///
    /// The gate is left for the next writer. A commit is durable on return, and is kept even if the
    /// block throws afterwards.
    package nonisolated(nonsending) func end(
        with completion: TransactionCompletion
    ) async throws {
        if completion == .commit { try Task.checkCancellation() }
        let made: ExplicitEnding? = explicitEnding.withLock { ending in
            guard ending == nil, isOpen else { return nil }
            ending = completed(completion)
            return ending
        }
        guard let ending = made else { throw hasEndedError }
        store.leave(after: self)
        switch ending {
        case .committed(let commit?): try await store.finishCommit(commit, of: self)
        case .committed(nil), .rolledBack: break
        case .failed(let error): throw error
        }
    }

    private func completed(_ completion: TransactionCompletion) -> ExplicitEnding {
        switch completion {
        case .rollback:
            rollBack()
            return .rolledBack
        case .commit:
            do throws(StoreError) { return .committed(try commit()) } catch {
                return .failed(error)
            }
        }
    }

    /// The error thrown when the transaction is used after its end.
    var hasEndedError: StoreError {
        let how =
            switch explicitEnding.withLock({ $0 }) {
            case .committed: "was committed by a call within its block"
            case .rolledBack: "was rolled back by a call within its block"
            case .failed: "has ended: its commit failed"
            case nil: "has ended"
            }
        return StoreError(
            .transactionEnded, "the transaction\(quotedHint) \(how)",
            hint: "use a transaction only within its block, and not after commit() or rollback()")
    }

    /// Returns the commit of a call within the block; nil if no call ended the transaction.
    ///
    /// The inner optional is nil if the call committed nothing. Throws if the block returns the
    /// opposite of what the call did.
    func commitOfExplicitEnding(
        _ completion: TransactionCompletion?
    ) throws(StoreError) -> CommitID?? {
        switch explicitEnding.withLock({ $0 }) {
        case nil: return nil
        case .failed(let error): throw error
        case .committed(let commit):
            guard completion != .rollback else { throw hasEndedError }
            return .some(commit)
        case .rolledBack:
            guard completion != .commit else { throw hasEndedError }
            return .some(nil)
        }
    }
}
