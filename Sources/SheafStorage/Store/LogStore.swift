import SheafBytes
import SheafSystem
import Synchronization

/// The result of a commit.
package struct CommitReceipt: Equatable, Sendable {
    package let id: CommitID
    /// Whether the commit is already durable; with relaxed durability it is flushed later.
    package let isDurable: Bool
}

/// A store with a group-commit thread and a maintenance thread.
package final class LogStore: Sendable {
    package let engine: StoreEngine
    private enum Phase: Sendable {
        case open, closing, closed
    }

    private let committer: GroupCommitter
    private let maintenance: MaintenanceThread
    private let phase = Monitor(Phase.open)

    /// Opens the store at `path`, creating it if necessary.
    package static func open(
        at path: String, options: LogStoreOptions = LogStoreOptions()
    ) throws(StorageError) -> LogStore {
        let volume = try translatingErrors { () throws(VolumeError) in
            try PosixVolume(path: path, creatingDirectory: true)
        }
        return try LogStore(volume: volume, options: options)
    }

    /// Opens the store in `volume`.
    package init(volume: any Volume, options: LogStoreOptions) throws(StorageError) {
        engine = try StoreEngine(opening: volume, options: options)
        let housekeeper = MaintenanceThread(engine: engine)
        self.maintenance = housekeeper
        committer = GroupCommitter(engine: engine, onNewSegment: { housekeeper.wake() })
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
        // Without `close`, nothing is lost: stopping the thread flushes all commits.
        maintenance.stop()
        committer.stop()
    }

    /// Returns the newest durable snapshot.
    package func snapshot() -> LogSnapshot { engine.snapshot() }

    /// Commits a batch and waits until it has the durability of the store's options.
    package nonisolated(nonsending) func commit(
        _ batch: WriteBatch
    ) async throws(StorageError) -> CommitReceipt {
        guard case .relaxed(let milliseconds) = engine.options.durability,
            engine.pendingLength < Limits.maximumPendingLength
        else {
            return CommitReceipt(id: try await commitDurably(batch), isDurable: true)
        }
        let id = try engine.append(batch)
        committer.flush(within: milliseconds)
        return CommitReceipt(id: id, isDurable: false)
    }

    /// Appends a batch to the log without waiting; `reachDurability(of:)` waits.
    package func append(_ batch: WriteBatch) throws(StorageError) -> CommitID {
        try engine.append(batch)
    }

    /// Waits until an appended commit has the durability of the store's options.
    package nonisolated(nonsending) func reachDurability(
        of commit: CommitID
    ) async throws(StorageError) {
        guard engine.durableCommit < commit else { return }
        if case .relaxed(let milliseconds) = engine.options.durability,
            engine.pendingLength < Limits.maximumPendingLength
        {
            committer.flush(within: milliseconds)
            return
        }
        if try committer.flushInline(), engine.durableCommit >= commit { return }
        let isServedAtOnce = committer.servesAtOnce
        committer.flushNow()
        if isServedAtOnce, committer.stayAwake(for: commit) { return }
        try await becomeDurable(commit)
    }

    /// Calls `body` when an appended commit reaches the store's durability, or fails to.
    ///
    /// `body` must not block, because other commits may wait for it.
    package func whenDurable(
        _ commit: CommitID,
        _ body: @escaping @Sendable (Result<CommitID, StorageError>) -> Void
    ) {
        if case .relaxed(let milliseconds) = engine.options.durability,
            engine.pendingLength < Limits.maximumPendingLength
        {
            committer.flush(within: milliseconds)
            body(.success(commit))
            return
        }
        engine.whenDurable(commit, body)
        // Commits that are already durable need no flush.
        if engine.durableCommit < commit { committer.flushNow() }
    }

    /// Makes an appended commit durable, on this thread if that is faster than waking another.
    package func makeDurable(_ commit: CommitID) {
        if case .full = engine.options.durability, engine.durableCommit < commit,
            (try? committer.flushInline()) == true, engine.durableCommit >= commit
        {
            return
        }
        whenDurable(commit) { _ in }
    }

    /// Makes all appended commits durable, blocking this thread.
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

    /// Waits until all previous commits are durable.
    package nonisolated(nonsending) func synchronize() async throws(StorageError) {
        _ = try await commitDurably(WriteBatch())
    }

    /// Commits a batch and calls `onDurable` on the group-commit thread when it is durable.
    ///
    /// The callback must not block, because all commits wait for it.
    @discardableResult
    package func commit(
        _ batch: borrowing WriteBatch,
        onDurable: @escaping @Sendable (Result<CommitID, StorageError>) -> Void
    ) throws(StorageError) -> CommitID {
        let id = try engine.append(batch, onDurable: onDurable)
        committer.flushNow()
        return id
    }

    /// Flushes all commits, writes a checkpoint if worthwhile, and releases the store.
    ///
    /// New commits are refused immediately. Of several concurrent calls, one does the work, and all
    /// return when it is done. Throws if called from a callback of the store, which would deadlock.
    package func close() throws(StorageError) {
        guard !committer.isCurrent else { throw .closedByItself }
        let isFirst = phase.withLock { phase in
            guard case .open = phase else { return false }
            phase = .closing
            return true
        }
        guard isFirst else {
            phase.wait(while: { if case .closing = $0 { true } else { false } })
            return
        }
        defer {
            phase.withLock { $0 = .closed }
            phase.broadcast()
        }
        engine.refuseCommits()
        maintenance.stop()
        committer.stop()
        try engine.close()
    }

    private nonisolated(nonsending) func commitDurably(
        _ batch: WriteBatch
    ) async throws(StorageError) -> CommitID {
        let isServedAtOnce = committer.servesAtOnce
        if isServedAtOnce || committer.shouldFlushInline {
            let commit = try engine.append(batch)
            if try committer.flushInline(), engine.durableCommit >= commit { return commit }
            committer.flushNow()
            if isServedAtOnce, committer.stayAwake(for: commit) { return commit }
            try await becomeDurable(commit)
            return commit
        }
        let result = await withUnsafeContinuation {
            (continuation: UnsafeContinuation<Result<CommitID, StorageError>, Never>) in
            do throws(StorageError) {
                _ = try engine.append(batch) { continuation.resume(returning: $0) }
                committer.flushNow()
            } catch {
                continuation.resume(returning: .failure(error))
            }
        }
        return try result.get()
    }

    private nonisolated(nonsending) func becomeDurable(
        _ commit: CommitID
    ) async throws(StorageError) {
        let result = await withUnsafeContinuation {
            (continuation: UnsafeContinuation<Result<CommitID, StorageError>, Never>) in
            engine.whenDurable(commit) { continuation.resume(returning: $0) }
        }
        _ = try result.get()
    }
}
