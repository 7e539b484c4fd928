import SheafBytes
import SheafSystem
import Synchronization

/// A store with a group-commit thread and a maintenance thread.
package final class LogStore: Sendable {
    package let engine: StoreEngine
    private enum Phase: Sendable {
        case open, closing
        case closed(Result<Void, StorageError>)
    }

    private let committer: GroupCommitter
    private let maintenance: MaintenanceThread
    private let phase = Monitor(Phase.open)

    /// Opens the store at `path`, creating it if necessary.
    package static func open(
        at path: String, options: LogStoreOptions = LogStoreOptions()
    ) throws(StorageError) -> LogStore {
        let volume: PosixVolume
        do throws(VolumeError) {
            volume = try PosixVolume(path: path, creatingDirectory: true)
        } catch {
            throw PosixPath.isRegularFile(path) ? .notADirectory(path: path) : StorageError(error)
        }
        return try LogStore(volume: volume, options: options)
    }

    /// Opens the store in `volume`, creating it if necessary, and starts its threads.
    package init(volume: any Volume, options: LogStoreOptions) throws(StorageError) {
        engine = try StoreEngine(opening: volume, options: options)
        let housekeeper = MaintenanceThread(engine: engine)
        self.maintenance = housekeeper
        committer = GroupCommitter(
            engine: engine, policy: GroupCommitPolicy(engine: engine),
            onNewSegment: { housekeeper.wake() })
        do throws(ThreadRefused) {
            try committer.start()
            if options.runsMaintenance { try housekeeper.start() }
        } catch {
            committer.stop()
            try engine.close()
            throw .io(VolumeError(.open, volume.path, VolumeError.Code(error.code)))
        }
    }

    deinit {
        // Without `close`, nothing is lost: stopping the committer flushes all commits.
        maintenance.stop()
        committer.stop()
    }

    /// Returns the newest durable snapshot.
    package func snapshot() -> LogSnapshot { engine.snapshot() }

    /// Appends a batch to the log without waiting; a batch without operations creates no commit.
    ///
    /// Returns the last commit. The next flush makes it durable: one that a waiting caller
    /// requests, or that of `close`.
    package func append(_ batch: WriteBatch) throws(StorageError) -> CommitID {
        try engine.append(batch)
    }

    /// Waits until an appended commit has the durability of the store's options.
    package nonisolated(nonsending) func waitForDurability(
        of commit: CommitID
    ) async throws(StorageError) {
        guard engine.durableCommit < commit, !postponesFlush() else { return }
        if try committer.flushInline(), engine.durableCommit >= commit { return }
        let isServedAtOnce = committer.servesAtOnce
        committer.flushNow()
        if isServedAtOnce, committer.stayAwake(for: commit) { return }
        let result = await withUnsafeContinuation {
            (continuation: UnsafeContinuation<Result<CommitID, StorageError>, Never>) in
            engine.whenDurable(commit) { continuation.resume(returning: $0) }
        }
        _ = try result.get()
    }

    /// Calls `body` when an appended commit has the durability of the options, or fails to.
    ///
    /// `body` must not block, because other commits may wait for it. If the caller may block, this
    /// thread flushes where that is faster than waking another.
    package func whenDurable(
        _ commit: CommitID, mayBlock: Bool = false,
        _ body: @escaping @Sendable (Result<CommitID, StorageError>) -> Void
    ) {
        guard !postponesFlush() else { return body(.success(commit)) }
        // If this flush fails, the engine passes its error to `body`.
        if mayBlock, engine.durableCommit < commit { _ = try? committer.flushInline() }
        engine.whenDurable(commit, body)
        // Commits that are already durable need no flush.
        if engine.durableCommit < commit { committer.flushNow() }
    }

    /// Makes all appended commits durable, whatever the options, and blocks this thread meanwhile.
    package func flush() throws(StorageError) {
        let outcome = Monitor<Result<CommitID, StorageError>?>(nil)
        engine.whenDurable(engine.lastCommit) { result in
            outcome.withLock { $0 = result }
            outcome.broadcast()
        }
        committer.flushNow()
        let result = outcome.wait(while: { $0 == nil }, then: { $0 })
        _ = try result?.get()
    }

    /// Requests a later flush if the options and the pending length permit one; else returns false.
    private func postponesFlush() -> Bool {
        guard case .relaxed(let milliseconds) = engine.options.durability,
            engine.pendingLength < Limits.maximumPendingLength
        else { return false }
        committer.flush(within: milliseconds)
        return true
    }

    /// Flushes all commits, writes a checkpoint if worthwhile, and releases the store.
    ///
    /// New commits are refused immediately. Of several calls, the first one does the work; the
    /// others return when it is done, and throw the same error. Throws if called from a callback of
    /// the store, which would deadlock.
    package func close() throws(StorageError) {
        guard !committer.isCurrent else { throw .closedByItself }
        let isFirst = phase.withLock { phase in
            guard case .open = phase else { return false }
            phase = .closing
            return true
        }
        guard isFirst else {
            let result = phase.wait(
                while: { if case .closing = $0 { true } else { false } },
                then: { phase -> Result<Void, StorageError>? in
                    guard case .closed(let result) = phase else { return nil }
                    return result
                })
            try result?.get()
            return
        }
        engine.refuseCommits()
        maintenance.stop()
        committer.stop()
        let result = Result { () throws(StorageError) in
            try engine.close()
            // No caller waited for relaxed commits, so an earlier loss is reported here.
            if case .relaxed = engine.options.durability, let failure = engine.failure {
                throw failure
            }
        }
        phase.withLock { $0 = .closed(result) }
        phase.broadcast()
        try result.get()
    }
}
