import SheafBytes
import Synchronization

/// What a writer gets for a commit.
package struct CommitReceipt: Equatable, Sendable {
    package let id: CommitID
    /// Whether the commit survives a power cut already; with relaxed durability it will soon.
    package let isDurable: Bool
}

/// A store with its threads: one makes commits durable, another keeps house.
package final class LogStore: Sendable {
    package let engine: StoreEngine
    private enum Phase: Sendable {
        case open, closing, closed
    }

    private let flusher: Flusher
    private let housekeeper: Housekeeper
    private let phase = Monitor(Phase.open)

    /// Opens the store at `path`, or makes one where there is none.
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
        let housekeeper = Housekeeper(engine: engine)
        self.housekeeper = housekeeper
        flusher = Flusher(engine: engine, onNewSegment: { housekeeper.wake() })
        do throws(ThreadRefused) {
            try flusher.start()
            if options.isHousekeepingAutomatic { try housekeeper.start() }
        } catch {
            flusher.stop()
            try engine.close()
            throw .io(VolumeError(.open, volume.path, VolumeError.Code(error.code)))
        }
    }

    deinit {
        // Who forgets to close loses nothing: what was committed is still made durable.
        housekeeper.stop()
        flusher.stop()
    }

    /// The newest durable state.
    package func snapshot() -> LogSnapshot { engine.snapshot() }

    /// Commits a batch; returns when the store's durability is reached.
    package nonisolated(nonsending) func commit(
        _ batch: WriteBatch
    ) async throws(StorageError) -> CommitReceipt {
        guard case .relaxed(let milliseconds) = engine.options.durability,
            engine.pendingLength < Limits.maximumPendingLength
        else {
            return CommitReceipt(id: try await commitDurably(batch), isDurable: true)
        }
        let id = try engine.append(batch)
        flusher.flush(within: milliseconds)
        return CommitReceipt(id: id, isDurable: false)
    }

    /// Gives a batch its place in the log, and waits for nothing; `reachDurability` does.
    package func append(_ batch: WriteBatch) throws(StorageError) -> CommitID {
        try engine.append(batch)
    }

    /// Returns when a commit that has its place has reached the store's durability.
    package nonisolated(nonsending) func reachDurability(
        of commit: CommitID
    ) async throws(StorageError) {
        guard engine.durableCommit < commit else { return }
        if case .relaxed(let milliseconds) = engine.options.durability,
            engine.pendingLength < Limits.maximumPendingLength
        {
            flusher.flush(within: milliseconds)
            return
        }
        if try flusher.flushHere(), engine.durableCommit >= commit { return }
        let isServedAtOnce = flusher.servesAtOnce
        flusher.flushNow()
        if isServedAtOnce, flusher.stayAwake(for: commit) { return }
        try await becomeDurable(commit)
    }

    /// Calls `body` when a commit that has its place has reached the store's durability, or never will.
    ///
    /// It must return at once: other commits may wait for it.
    package func whenDurable(
        _ commit: CommitID,
        _ body: @escaping @Sendable (Result<CommitID, StorageError>) -> Void
    ) {
        if case .relaxed(let milliseconds) = engine.options.durability,
            engine.pendingLength < Limits.maximumPendingLength
        {
            flusher.flush(within: milliseconds)
            body(.success(commit))
            return
        }
        engine.whenDurable(commit, body)
        // Nobody is woken for what is there.
        if engine.durableCommit < commit { flusher.flushNow() }
    }

    /// Has a commit that has its place made durable: at once and on this thread, if that is faster than to wake
    /// another one.
    package func makeDurable(_ commit: CommitID) {
        if case .full = engine.options.durability, engine.durableCommit < commit,
            (try? flusher.flushHere()) == true, engine.durableCommit >= commit
        {
            return
        }
        whenDurable(commit) { _ in }
    }

    /// Makes durable what was appended so far, and waits for that on this thread.
    package func flush() throws(StorageError) {
        let outcome = Monitor<Result<CommitID, StorageError>?>(nil)
        engine.whenDurable(engine.lastCommit) { result in
            outcome.withLock { $0 = result }
            outcome.broadcast()
        }
        flusher.flushNow()
        let result = outcome.wait(while: { $0 == nil }, then: { $0 })
        _ = try result?.get()
    }

    /// Returns when everything that was committed so far survives a power cut.
    package nonisolated(nonsending) func synchronize() async throws(StorageError) {
        _ = try await commitDurably(WriteBatch())
    }

    /// Commits a batch and calls `onDurable` from the store's own thread when it is durable.
    ///
    /// The callback must return at once: all commits wait for it.
    @discardableResult
    package func commit(
        _ batch: borrowing WriteBatch,
        onDurable: @escaping @Sendable (Result<CommitID, StorageError>) -> Void
    ) throws(StorageError) -> CommitID {
        let id = try engine.append(batch, onDurable: onDurable)
        flusher.flushNow()
        return id
    }

    /// Makes everything durable, writes a checkpoint if it is worth it, and lets go of the store.
    ///
    /// Commits are refused at once. Of several that close, one does the work and all return when it
    /// is done. Throws where it would wait for itself: in a callback of the store.
    package func close() throws(StorageError) {
        guard !flusher.isCurrent else { throw .closedByItself }
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
        housekeeper.stop()
        flusher.stop()
        try engine.close()
    }

    private nonisolated(nonsending) func commitDurably(
        _ batch: WriteBatch
    ) async throws(StorageError) -> CommitID {
        let isServedAtOnce = flusher.servesAtOnce
        if isServedAtOnce || flusher.mayFlushHere {
            let commit = try engine.append(batch)
            if try flusher.flushHere(), engine.durableCommit >= commit { return commit }
            flusher.flushNow()
            if isServedAtOnce, flusher.stayAwake(for: commit) { return commit }
            try await becomeDurable(commit)
            return commit
        }
        let result = await withUnsafeContinuation {
            (continuation: UnsafeContinuation<Result<CommitID, StorageError>, Never>) in
            do throws(StorageError) {
                _ = try engine.append(batch) { continuation.resume(returning: $0) }
                flusher.flushNow()
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
