import SheafBytes
import SheafSystem
import Synchronization

/// A store without threads of its own: callers decide when it flushes and performs maintenance.
///
/// Any thread may call `append`, or `flush`, which makes appended commits durable and publishes
/// them to readers. One thread performs maintenance. Simulations do all of this in any order.
package final class StoreEngine: Sendable {
    package let volume: any Volume
    package let options: LogStoreOptions
    package let store: StoreID
    let state: Mutex<EngineState>
    /// The published snapshot.
    ///
    /// It has a separate lock, because appending a large batch holds the state's lock for long.
    private let published: Mutex<LogSnapshot>
    /// Held during a flush, from removing the pending batch until its publication.
    private let writer: Mutex<SegmentWriter>
    let preparation: SegmentPreparation
    let stagedFileSync = StagedFileSync()
    /// Whether commits were appended since the last flush began; readable without a lock.
    private let pendingHint = Atomic(false)
    /// The last published commit; readable without a lock.
    private let durableHint = Atomic<CommitID>(0)
    /// The number of waiting writers when the last flush ended.
    let lastWriterCount = Atomic(0)
    /// The last appended commit; readable without a lock.
    private let appendedHint = Atomic<CommitID>(0)
    private let appendedTime = Atomic<UInt64>(0)
    /// The garbage pressure at the last check, in thousandths of the limit.
    let lastPressure = Atomic(0)
    let checkpoints: Mutex<CheckpointState>
    let compaction: Mutex<CompactionState>
    private let lock: any VolumeLock
    /// The mark for readers in other processes; nil if the disk was full, or there is no disk.
    private let synced: SyncedFile?
    /// The outcome of opening the store.
    package let recovery: RecoveryReport
    /// The callbacks that the flushing thread calls after publishing a snapshot.
    private let publishHook = Mutex(PublishHook())
    /// Whether a layer that interprets keys and payloads is attached; there can be only one.
    private let isInterpreted = Atomic(false)

    /// A bare closure in a `Mutex` gains a thunk on each access, so it is wrapped in a struct.
    private struct PublishHook: Sendable {
        var documents: (@Sendable () -> Void)?
        var observers: (@Sendable () -> Void)?
        var peers: (@Sendable () -> Void)?

        /// Calls all callbacks.
        func call() {
            documents?()
            observers?()
            peers?()
        }
    }

    /// Opens the store in `volume`, creating it if necessary.
    package init(
        opening volume: any Volume, options: LogStoreOptions = LogStoreOptions()
    ) throws(StorageError) {
        let lock = try Self.acquireLock(of: volume)
        do throws(StorageError) {
            let recovered = try Recovery.run(volume: volume, options: options)
            synced = try translatingErrors { () throws(VolumeError) in
                try SyncedFile.create(
                    in: volume, store: recovered.store, recovered.snapshot)
            }
            self.volume = volume
            self.options = options
            self.lock = lock
            store = recovered.store
            recovery = recovered.report
            preparation = SegmentPreparation(volume: volume, clock: options.clock)
            writer = Mutex(
                SegmentWriter(
                    volume: volume, store: recovered.store, preparation: preparation,
                    chainHash: recovered.chainHash, chain: recovered.chain))
            checkpoints = Mutex(recovered.checkpoints)
            compaction = Mutex(CompactionState())
            published = Mutex(recovered.snapshot)
            state = Mutex(recovered.takeState())
            durableHint.store(snapshot().commit, ordering: .releasing)
            appendedHint.store(snapshot().commit, ordering: .releasing)
            appendedTime.store(snapshot().commitAt, ordering: .releasing)
        } catch {
            lock.release()
            throw error
        }
    }

    /// Acquires the writer's lock of a store directory; throws if it is held.
    private static func acquireLock(
        of volume: any Volume
    ) throws(StorageError) -> any VolumeLock {
        let outcome = try translatingErrors { () throws(VolumeError) in try volume.lock() }
        switch outcome {
        case .acquired(let lock): return lock
        case .held(let holder): throw .locked(path: volume.path, holder: holder)
        }
    }

    /// Returns the newest durable snapshot.
    package func snapshot() -> LogSnapshot {
        published.withLock { $0 }
    }

    /// Sets a callback for each flush that publishes a snapshot, for the layer above; it must not
    /// block.
    package func onPublishingToDocuments(_ body: (@Sendable () -> Void)?) {
        publishHook.withLock { $0.documents = body }
    }

    /// Sets a callback for each flush that publishes a snapshot, for observers; it must not block.
    package func onPublishing(_ body: (@Sendable () -> Void)?) {
        publishHook.withLock { $0.observers = body }
    }

    /// Sets a callback for each flush that publishes a snapshot, for peers; it must not block.
    package func onPublishingToPeers(_ body: (@Sendable () -> Void)?) {
        publishHook.withLock { $0.peers = body }
    }

    /// Attaches the layer that interprets keys and payloads; returns false if one is attached.
    package func beginInterpretation() -> Bool {
        isInterpreted.compareExchange(
            expected: false, desired: true, ordering: .sequentiallyConsistent
        ).exchanged
    }

    /// Detaches the layer that interprets keys and payloads.
    package func endInterpretation() {
        isInterpreted.store(false, ordering: .sequentiallyConsistent)
    }

    /// Publishes a snapshot to readers; must be called with the state's lock held.
    func publish(_ snapshot: LogSnapshot) {
        published.withLock { $0 = snapshot }
    }

    /// Appends a batch as a commit, and returns its number.
    ///
    /// A batch without operations creates no commit; its result is the last commit.
    package func append(_ batch: borrowing WriteBatch) throws(StorageError) -> CommitID {
        let now = max(options.clock.wallMilliseconds(), batch.earliestTime)
        let keysOfDeltas = batch.hasDeltas ? try batch.keysOfDeltas() : []
        return try state.withLock { state throws(StorageError) in
            try state.checkWritable()
            try state.keyspace.checkPresent(keysOfDeltas, in: batch.bytes)
            guard batch.count > 0 else { return state.lastCommit }
            let commit = state.append(batch, at: now, options: options)
            appendedHint.store(commit, ordering: .releasing)
            appendedTime.store(state.lastCommitAt, ordering: .releasing)
            // The hint is set under the lock: a flush clears it before it takes the commits.
            pendingHint.store(true, ordering: .sequentiallyConsistent)
            return commit
        }
    }

    /// Calls `onDurable` when an appended commit is on disk, or failed to get there.
    package func whenDurable(
        _ commit: CommitID,
        _ onDurable: @escaping @Sendable (Result<CommitID, StorageError>) -> Void
    ) {
        let result: Result<CommitID, StorageError>? = state.withLock { state in
            if commit <= state.published.commit { return .success(commit) }
            if let poison = state.poison { return .failure(poison) }
            let index = state.waiters.lastIndex { $0.commit <= commit }.map { $0 + 1 } ?? 0
            state.waiters.insert(CommitWaiter(commit: commit, resume: onDurable), at: index)
            return nil
        }
        if let result { onDurable(result) }
    }

    /// The last durable commit, which may lag behind briefly.
    package var durableCommit: CommitID {
        durableHint.load(ordering: .acquiring)
    }

    /// The last appended commit.
    package var lastCommit: CommitID { state.withLock { $0.lastCommit } }

    /// The time of the last appended commit in milliseconds since 1970.
    package var appendedAt: UInt64 { appendedTime.load(ordering: .acquiring) }

    /// An estimate of the number of commits that are not durable, obtained without a lock.
    package var pendingCommits: CommitID {
        let durable = durableCommit
        return max(appendedHint.load(ordering: .acquiring), durable) - durable
    }

    /// Whether commits wait for a flush.
    package var hasPendingCommits: Bool {
        pendingHint.load(ordering: .sequentiallyConsistent)
    }

    /// The number of the segment of the last record, which may be pending.
    package var tailSegment: UInt32 {
        state.withLock { $0.tail.segment }
    }

    /// The last segment that a flush has begun to write; zero before the first.
    package var begunSegment: UInt32 { preparation.lastRequested }

    /// The number of bytes that wait for a flush.
    package var pendingLength: Int {
        state.withLock { $0.pending.length }
    }

    /// Makes all pending commits durable; returns false if there are none or writes are refused.
    ///
    /// After an error the store refuses writes, because the contents of the disk are uncertain.
    @discardableResult
    package func flush() throws(StorageError) -> Bool {
        try finish(writer.withLock { flush(&$0) })
    }

    /// Flushes like `flush()`; returns nil without flushing if another thread is flushing.
    func flushIfIdle() throws(StorageError) -> Bool? {
        guard let flushed = writer.withLockIfAvailable({ flush(&$0) }) else { return nil }
        return try finish(flushed)
    }

    private func finish(_ flushed: Flushed?) throws(StorageError) -> Bool {
        guard let flushed else { return false }
        // Callbacks are called outside of the lock, because they run arbitrary code.
        if let error = flushed.error {
            for waiter in flushed.waiters {
                waiter.resume(
                    .failure(
                        waiter.commit <= flushed.commit
                            ? error : .poisoned(cause: error.description)))
            }
            throw error
        }
        for waiter in flushed.waiters { waiter.resume(.success(waiter.commit)) }
        publishHook.withLock { $0 }.call()
        return true
    }

    /// The outcome of a flush.
    private struct Flushed {
        let waiters: ArraySlice<CommitWaiter>
        /// The last commit of the flush, even if it failed.
        let commit: CommitID
        var error: StorageError?
    }

    private func flush(_ writer: inout SegmentWriter) -> Flushed? {
        pendingHint.store(false, ordering: .sequentiallyConsistent)
        guard let flush = state.withLock({ $0.poison == nil ? $0.takePendingFlush() : nil }) else {
            return nil
        }
        let (start, length) = (options.clock.monotonicNanoseconds(), flush.batch.totalLength)
        do throws(StorageError) {
            let written = try writer.write(flush.batch, synced: flush.synced)
            // The callers that wait may ask another process to read their commits.
            synced?.advance(to: flush.end, commit: flush.commit)
            let waiters = state.withLock { state in
                lastWriterCount.store(state.waiters.count, ordering: .relaxed)
                defer { publish(state.published) }
                state.flushes.add(
                    length, nanoseconds: options.clock.monotonicNanoseconds() &- start)
                return state.finish(flush, written, options: options)
            }
            durableHint.store(flush.commit, ordering: .releasing)
            return Flushed(waiters: waiters, commit: flush.commit)
        } catch {
            return Flushed(waiters: poison(error), commit: flush.commit, error: error)
        }
    }

    /// Shows readers in other processes that a base file has replaced others.
    func recordReplacement() {
        synced?.recordReplacement()
    }

    /// Refuses all further writes; returns the waiting callers.
    private func poison(_ error: StorageError) -> ArraySlice<CommitWaiter> {
        state.withLock { state in
            state.poison = error
            state.pending.reset()
            defer { state.waiters = [] }
            return state.waiters[...]
        }
    }

    /// The flushes since the store was opened.
    package var flushStatistics: FlushStatistics { state.withLock { $0.flushes } }

    /// The number of bytes of operations that the current keys still need.
    package var liveByteCount: Int { state.withLock { $0.keyspace.live.total } }

    /// The error after which the store refuses writes, if any.
    package var failure: StorageError? {
        state.withLock { $0.poison }
    }

    /// Refuses new commits; appended ones can still become durable.
    package func refuseCommits() {
        state.withLock { $0.isClosing = true }
    }

    /// Makes all commits durable, seals the segment in use, and releases the lock.
    ///
    /// The lock is released even if an error is thrown. Further calls do nothing.
    package func close() throws(StorageError) {
        let wasOpen = state.withLock { state in
            state.isClosing = true
            defer { state.isClosed = true }
            return !state.isClosed
        }
        guard wasOpen else { return }
        defer { lock.release() }
        guard failure == nil else { return }
        while try flush() {}
        // The footer is flushed separately, so that it can state that all bytes before it are
        // synced.
        state.withLock { $0.sealTail() }
        try flush()
        // All commits are durable and the log is sealed. The remaining steps save space and time,
        // or help to distinguish damage from a crash. A full disk may refuse them without loss.
        try? trimSealedSegments()
        try? preparation.discard()
        try? writeClosedMark()
        try? writeCheckpointIfWorthwhile(atClose: true)
    }

    /// Writes a closed mark, whose name contains the last commit, and removes older marks.
    ///
    /// No later record proves the last footer. Without the mark, damage at the end of the log would
    /// look like a crash.
    private func writeClosedMark() throws(VolumeError) {
        let commit = snapshot().commit
        guard commit > 0 else { return }
        let name = FileName.name(ofClosedMark: commit)
        let marks = try volume.names().filter { other in
            if case .closedMark = FileName(other) { return true }
            return false
        }
        if !marks.contains(name) {
            try volume.open(name, .create).close()
            try volume.synchronizeNames()
        }
        for mark in marks where mark != name { try volume.remove(mark) }
    }

    /// Truncates the unused space after the footers of sealed segments.
    package func trimSealedSegments() throws(StorageError) {
        let files = state.withLock { state in
            defer { state.trimmable = [] }
            return state.trimmable
        }
        for sealed in files {
            defer { sealed.file.close() }
            try translatingErrors { () throws(VolumeError) in
                try sealed.file.truncate(to: sealed.length)
            }
        }
    }

    /// Prepares the file of the next segment, if that has not been done.
    package func prepareNextSegment() throws(StorageError) {
        let length = state.withLock { state in
            state.preparesSegments
                ? options.segmentLength(liveBytes: state.keyspace.live.total) : 0
        }
        try translatingErrors { () throws(VolumeError) in
            try preparation.prepareNext(length: length)
        }
    }
}
