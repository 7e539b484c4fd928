import SheafBytes
import Synchronization

/// A store without threads of its own: what is done, and never when.
///
/// Writers call `append` from anywhere. One thread calls `flush`, which makes durable what was
/// appended and shows it to readers. Another calls the housekeeping. Simulations call all of them
/// in an order of their own.
package final class StoreEngine: Sendable {
    package let volume: any Volume
    package let options: LogStoreOptions
    package let store: StoreID
    let state: Mutex<EngineState>
    /// What readers see, apart from the state: a writer with a large batch holds that for long.
    private let published: Mutex<LogSnapshot>
    /// Held by whoever flushes, from taking what is pending to showing it to readers.
    private let writer: Mutex<SegmentWriter>
    let preparation: SegmentPreparation
    /// Whether anything was appended since the last flush began: a hint that costs no lock.
    private let pendingHint = Atomic(false)
    /// The last commit that readers see: a hint that costs no lock.
    private let durableHint = Atomic<CommitID>(0)
    /// How many writers waited when a flush ended.
    let knownWriters = Atomic(0)
    /// The last commit that has its place, likewise.
    private let appendedHint = Atomic<CommitID>(0)
    private let appendedTime = Atomic<UInt64>(0)
    /// How much garbage there was when somebody looked last, in thousandths of what is allowed.
    let knownPressure = Atomic(0)
    let checkpoints: Mutex<CheckpointState>
    let compaction: Mutex<CompactionState>
    private let lock: any VolumeLock
    /// What was found when the store was opened.
    package let recovery: RecoveryReport
    /// Called on the flushing thread when readers see more than before.
    private let publishHook = Mutex(PublishHook())
    /// Whether somebody gives keys and payloads their meaning, which only one can.
    private let isInterpreted = Atomic(false)

    /// What is in no type of its own is wrapped once more with each look at it, and each call would go
    /// through all the wrappers.
    private struct PublishHook: Sendable {
        var observers: (@Sendable () -> Void)?
        var peers: (@Sendable () -> Void)?

        func call() {
            observers?()
            peers?()
        }
    }

    /// Opens the store in `volume`, or makes one where there is none.
    package init(
        opening volume: any Volume, options: LogStoreOptions = LogStoreOptions()
    ) throws(StorageError) {
        let lock = try Self.acquire(.exclusive, of: volume)
        do throws(StorageError) {
            let recovered = try Recovery.run(volume: volume, options: options)
            self.volume = volume
            self.options = options
            self.lock = lock
            store = recovered.store
            recovery = recovered.report
            preparation = SegmentPreparation(volume: volume)
            writer = Mutex(
                SegmentWriter(
                    volume: volume, store: recovered.store, preparation: preparation,
                    link: recovered.link, chain: recovered.chain))
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

    /// Takes the lock of a store's directory.
    static func acquire(
        _ kind: LockKind, of volume: any Volume
    ) throws(StorageError) -> any VolumeLock {
        let outcome = try translatingErrors { () throws(VolumeError) in try volume.lock(kind) }
        switch outcome {
        case .acquired(let lock): return lock
        case .held(let holder): throw .locked(path: volume.path, holder: holder)
        }
    }

    /// The newest durable state.
    package func snapshot() -> LogSnapshot {
        published.withLock { $0 }
    }

    /// Calls `body` each time that readers see more than before; it must return at once.
    package func onPublishing(_ body: (@Sendable () -> Void)?) {
        publishHook.withLock { $0.observers = body }
    }

    /// The same for those who tell peers.
    package func onPublishingToPeers(_ body: (@Sendable () -> Void)?) {
        publishHook.withLock { $0.peers = body }
    }

    /// Lends the store to who gives keys and payloads their meaning; false while another has it.
    package func beginInterpretation() -> Bool {
        isInterpreted.compareExchange(
            expected: false, desired: true, ordering: .sequentiallyConsistent
        ).exchanged
    }

    package func endInterpretation() {
        isInterpreted.store(false, ordering: .sequentiallyConsistent)
    }

    /// Lets readers see what the state has published; only to be called under the state's lock.
    func publish(_ snapshot: LogSnapshot) {
        published.withLock { $0 = snapshot }
    }

    /// Gives a commit its number and its place; `onDurable` is called when it is on the disk.
    ///
    /// A batch without operations makes no commit: the newest one there is answers for it.
    package func append(
        _ batch: borrowing WriteBatch,
        onDurable: (@Sendable (Result<CommitID, StorageError>) -> Void)? = nil
    ) throws(StorageError) -> CommitID {
        let now = max(options.clock.wallMilliseconds(), batch.earliestTime)
        let extended = batch.hasExtensions ? try batch.keysToExtend() : []
        let (commit, isDurable) = try state.withLock { state throws(StorageError) in
            try state.checkWritable()
            try state.keyspace.checkPresent(extended, in: batch.bytes)
            let commit =
                batch.count == 0
                ? state.lastCommit : state.append(batch, at: now, options: options)
            appendedHint.store(state.lastCommit, ordering: .releasing)
            appendedTime.store(state.lastCommitAt, ordering: .releasing)
            let isDurable = commit <= state.published.commit
            if let onDurable, !isDurable {
                state.waiters.append(CommitWaiter(commit: commit, resume: onDurable))
            }
            // Under the lock: who comes with nothing of its own, and waits for what is pending,
            // must not miss it.
            if !isDurable { pendingHint.store(true, ordering: .sequentiallyConsistent) }
            return (commit, isDurable)
        }
        // Not under the lock: nobody knows what a callback does.
        if isDurable { onDurable?(.success(commit)) }
        return commit
    }

    /// Calls `onDurable` when a commit that has its place is on the disk, or will never be.
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

    /// The last commit that is durable, or the one before it for a moment longer.
    package var durableCommit: CommitID {
        durableHint.load(ordering: .acquiring)
    }

    /// The last commit that has its place.
    package var lastCommit: CommitID { state.withLock { $0.lastCommit } }

    /// The time of the last record that has its place, in milliseconds.
    package var appendedAt: UInt64 { appendedTime.load(ordering: .acquiring) }

    /// How many commits are not durable yet, as far as that can be said without a lock.
    package var pendingCommits: CommitID {
        let durable = durableCommit
        return max(appendedHint.load(ordering: .acquiring), durable) - durable
    }

    /// Whether anything waits for a flush.
    package var hasPendingCommits: Bool {
        pendingHint.load(ordering: .sequentiallyConsistent)
    }

    /// The number of the segment in use, or of the last one there was.
    package var tailSegment: UInt32 {
        state.withLock { $0.tail.segment }
    }

    /// How many bytes wait for a flush.
    package var pendingLength: Int {
        state.withLock { $0.pending.length }
    }

    /// Makes durable what was appended so far; false when there was nothing.
    ///
    /// After an error the store takes no more writes: nobody knows what the disk kept.
    @discardableResult
    package func flush() throws(StorageError) -> Bool {
        try finish(writer.withLock { flush(&$0) })
    }

    /// The same, unless somebody else is doing it: then nothing is said.
    func flushIfIdle() throws(StorageError) -> Bool? {
        guard let flushed = writer.withLockIfAvailable({ flush(&$0) }) else { return nil }
        return try finish(flushed)
    }

    private func finish(_ flushed: Flushed?) throws(StorageError) -> Bool {
        guard let flushed else { return false }
        // Not under the lock: nobody knows what a callback does.
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

    /// What became of a flush.
    private struct Flushed {
        let waiters: ArraySlice<CommitWaiter>
        /// The last commit that was written, or should have been.
        let commit: CommitID
        var error: StorageError?
    }

    private func flush(_ writer: inout SegmentWriter) -> Flushed? {
        pendingHint.store(false, ordering: .sequentiallyConsistent)
        guard let flush = state.withLock({ $0.poison == nil ? $0.cut() : nil }) else { return nil }
        do throws(StorageError) {
            let written = try writer.write(flush.batch, synced: flush.synced)
            let waiters = state.withLock { state in
                knownWriters.store(state.waiters.count, ordering: .relaxed)
                defer { publish(state.published) }
                return state.finish(flush, written)
            }
            durableHint.store(flush.commit, ordering: .releasing)
            return Flushed(waiters: waiters, commit: flush.commit)
        } catch {
            return Flushed(waiters: poison(error), commit: flush.commit, error: error)
        }
    }

    /// Refuses all writes from now on; returns those who wait.
    private func poison(_ error: StorageError) -> ArraySlice<CommitWaiter> {
        state.withLock { state in
            state.poison = error
            state.pending.reset()
            defer { state.waiters = [] }
            return state.waiters[...]
        }
    }

    /// Why the store takes no more writes, if it does not.
    package var failure: StorageError? {
        state.withLock { $0.poison }
    }

    /// Refuses commits from now on; those that have their place can still be made durable.
    package func refuseCommits() {
        state.withLock { $0.isClosing = true }
    }

    /// Makes everything durable, seals the segment in use, and gives the lock back.
    ///
    /// The lock is given back also where an error is thrown. Closing twice does nothing.
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
        // The footer goes in a flush of its own, and so can say that all before it is synced.
        state.withLock { $0.sealTail() }
        try flush()
        // Everything is durable and sealed. What is left saves room and time, or helps to tell
        // damage from a crash: a disk that is full refuses it, and nothing is lost by that.
        try? trimSealedSegments()
        try? preparation.discard()
        try? leaveClosedMark()
        try? writeCheckpointIfWorthwhile(atClose: true)
    }

    /// Leaves a file whose name says how far the log goes, and removes older ones.
    ///
    /// Nothing behind the last footer proves it: without the mark, damage to the end of the log
    /// would look like a crash.
    private func leaveClosedMark() throws(VolumeError) {
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

    /// Cuts off what was prepared behind the footers of sealed segments.
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

    /// Makes the file of the next segment ahead of use, if that has not been done.
    package func prepareNextSegment() throws(StorageError) {
        let (number, length) = state.withLock { state in
            (
                state.tail.isBegun ? state.tail.segment + 1 : 0,
                state.preparesSegments
                    ? options.segmentLength(liveBytes: state.keyspace.live.total) : 0
            )
        }
        // The first segment of an opening is made when it is needed: many who open only read.
        guard number > 0 else { return }
        try translatingErrors { () throws(VolumeError) in
            try preparation.prepare(number, length: length)
        }
    }
}
