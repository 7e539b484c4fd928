import SheafBytes
package import SheafDocument
package import SheafStorage
import SheafSync
import Synchronization

/// Documents in a log: applies changes, reads what there is, and tells what changed.
///
/// It has no thread and waits for nothing: who calls `commit` decides how batches get to the log.
package final class DocumentEngine: Sendable {
    let store: StoreEngine
    let state: Mutex<WriterState>
    /// What readers use beside the newest snapshot; apart, so that no reader waits for a writer.
    private let directory: Mutex<Directory>
    /// What commits change, for observers.
    let feed = CommitFeed()
    /// The same, for peers.
    let peerFeed: CommitFeed
    /// Called with the attachments that a commit may name, before it is made.
    let tokenWatch = Mutex<(@Sendable ([AttachmentID]) -> Void)?>(nil)
    private let mayHaveUnproven = Atomic(false)
    /// Why there are no indexes, if they could not be put right when the store was opened.
    package let linkFailure: EngineError?

    /// What is shared by those who write.
    struct WriterState: Sendable {
        var directory: Directory
        var registry: NameRegistry
        var clock: HybridClock
        /// Whether the log has the site.
        var isSiteWritten: Bool
        /// The site recorded in the log, and the sites that the store had before it.
        var loggedSite: Site?
        var formerSites = FormerSites()
        /// What tells the files of the store from a copy of them.
        var mark = StoreMark()
        /// When the site has written.
        var ownWrites: OwnWrites
        /// The previous site of the store, if its writes were moved to the current one.
        var handover: SiteHandover?
        /// The pauses of the sites of other stores.
        var knownPauses: KnownPauses
        /// Documents of commits that no snapshot shows yet.
        var pending = PendingDocuments()
        /// The tokens of attachments that have no proof of possession.
        var unproven: UnprovenTokens

        /// Whether the clock is earlier than the record times; each commit then writes it to the log.
        var isClockApart = false

        var siteRecord: SiteRecord {
            SiteRecord(
                site: clock.site, directory: mark.identity,
                clock: isClockApart ? clock.latest : nil,
                pauses: ownWrites.endedPauses)
        }
    }

    /// Reads what the log knows of names, and goes on with its clock.
    ///
    /// A store has one engine at a time: two would give the same numbers to different names.
    /// A commit of more documents from elsewhere than `mostTold` is not told one by one.
    package init(_ store: StoreEngine, mostTold: Int = .max) throws(EngineError) {
        guard store.beginInterpretation() else { throw .inUse }
        peerFeed = CommitFeed(most: mostTold)
        var isComplete = false
        defer { if !isComplete { store.endInterpretation() } }
        self.store = store
        let snapshot = store.snapshot()
        let directory = try Directory(snapshot)
        self.directory = Mutex(directory)
        // Without indexes everything can still be read, but for what is damaged.
        linkFailure = Self.mendLinks(of: store, directory)
        let known = try Self.site(of: snapshot)
        // In a copy of a store, the site belongs to the files that were copied.
        let mark = try StoreMark(of: store, known)
        let site = mark.isKnown ? known?.site : nil
        // No write in the log is later than this time, and every write after the opening is.
        let latest = max(
            try Self.time(of: snapshot) ?? .initial,
            HybridTime(milliseconds: min(snapshot.commitAt, HybridTime.maximumMilliseconds)))
        let seen = snapshot.commit == 0 ? .initial : known?.clock ?? latest
        let clock = HybridClock(
            site: site ?? Self.drawSite(store.options.random),
            latest: Self.skipping(seen, store.options))
        state = Mutex(
            WriterState(
                directory: directory, registry: NameRegistry(directory), clock: clock,
                isSiteWritten: site != nil && !mark.isDue, loggedSite: known?.site,
                formerSites: try Self.formerSites(of: snapshot), mark: mark,
                ownWrites: site == nil
                    ? .ofNewSite : OwnWrites(opened: seen, earlier: known?.pauses ?? []),
                knownPauses: try KnownPauses(snapshot),
                unproven: UnprovenTokens(
                    isAny: !snapshot.tree.isEmpty(in: StoreKey.unprovenTokens)),
                isClockApart: known?.clock != nil))
        mayHaveUnproven.store(state.withLock(\.unproven.isAny), ordering: .relaxed)
        isComplete = true
    }

    deinit {
        store.endInterpretation()
    }

    private static func mendLinks(of store: StoreEngine, _ directory: Directory) -> EngineError? {
        do throws(EngineError) {
            try LinkMender.mend(store, directory)
            return nil
        } catch {
            return error
        }
    }

    /// Lets readers see what is known of names and indexes.
    func publish(_ directory: Directory) {
        self.directory.withLock { $0 = directory }
    }

    static func site(of snapshot: LogSnapshot) throws(EngineError) -> SiteRecord? {
        guard let payload = try payload(of: .site, in: snapshot) else { return nil }
        return try onDocument(StoreKey.site.bytes) { () throws(Malformed) in
            try payload.span.withUnsafeBytes { bytes throws(Malformed) in
                try SiteRecord(decoding: bytes)
            }
        }
    }

    /// The latest time of the clock that the log has; nil if it has no key `08`.
    private static func time(of snapshot: LogSnapshot) throws(EngineError) -> HybridTime? {
        guard let payload = try payload(of: .clock, in: snapshot) else { return nil }
        return try onDocument(StoreKey.clock.bytes) { () throws(Malformed) in
            try payload.span.withUnsafeBytes { bytes throws(Malformed) in
                try HybridTime(decoding: bytes)
            }
        }
    }

    static func payload(
        of key: StoreKey, in snapshot: LogSnapshot
    ) throws(EngineError) -> [UInt8]? {
        try onStorage { () throws(StorageError) in
            try key.bytes.span.withUnsafeBytes { key throws(StorageError) in
                try snapshot.payload(of: key).map { Array($0) }
            }
        }
    }

    /// Replaces the site of this store; the next commit records the new one in the log.
    func draw(_ site: Site, _ state: inout WriterState) {
        leaveSite(&state)
        state.clock = HybridClock(
            site: site, latest: state.clock.latest,
            leniencyMilliseconds: state.clock.leniencyMilliseconds)
        (state.isSiteWritten, state.ownWrites) = (false, .ofNewSite)
    }

    /// Keeps the pauses of the site that is replaced: peers may pass on documents with its later writes.
    func leaveSite(_ state: inout WriterState) {
        _ = state.knownPauses.add(state.ownPauses)
    }

    /// Leaves out some times at random where the clock of the store is ahead of that of the system.
    ///
    /// An older state that was put in the place of a newer one would otherwise give the same stamps to other writes.
    private static func skipping(_ latest: HybridTime, _ options: LogStoreOptions) -> HybridTime {
        let wall = options.clock.wallMilliseconds()
        guard latest.milliseconds >= wall, latest != .initial else { return latest }
        let milliseconds = latest.milliseconds + options.random() % 256 + 1
        return HybridTime(milliseconds: min(milliseconds, HybridTime.maximumMilliseconds))
    }

    static func drawSite(_ random: () -> UInt64) -> Site {
        while true {
            let site = Site(rawValue: random())
            if site != .initial, site != EncodedDocument.evictionSite { return site }
        }
    }

    /// The names that have numbers by now, whether the log has them or not.
    var newestDirectory: Directory { directory.withLock { $0 } }

    /// Gives numbers to names, as far as there is room; returns all there are then.
    ///
    /// The log has them with the next commit.
    func number(_ names: [[UInt8]]) -> NameTable {
        state.withLock { state in
            for name in names { state.directory.add(name: name) }
            publish(state.directory)
            return state.directory.names
        }
    }

    /// Whether there are unproven tokens, or were some since the store was opened.
    var mayHaveUnprovenTokens: Bool { mayHaveUnproven.load(ordering: .acquiring) }

    package var site: Site { state.withLock { $0.clock.site } }

    /// The newest durable state.
    package func snapshot() -> DocumentSnapshot {
        // The names come second: they only grow, so they know at least those of the snapshot.
        let snapshot = store.snapshot()
        return DocumentSnapshot(snapshot, directory.withLock { $0 })
    }

    /// Makes all changes in one commit, or none where one of them fails.
    ///
    /// `append` gives the batch to the log, under the lock of those who write.
    package func commit(
        _ changes: [DocumentChange],
        from origin: CommitOrigin? = nil,
        append: (WriteBatch) throws(StorageError) -> CommitID
    ) throws(EngineError) -> DocumentReceipt {
        do throws(WriteError) {
            let (commit, outcomes) = try write(from: origin, append: append) {
                (transaction) throws(WriteError) in
                var outcomes: [DocumentReceipt.Outcome] = []
                do throws(EngineError) {
                    for change in changes { outcomes.append(try transaction.apply(change)) }
                } catch {
                    throw .engine(error)
                }
                return outcomes
            }
            return DocumentReceipt(commit: commit, outcomes: outcomes)
        } catch {
            switch error {
            case .engine(let error): throw error
            case .query: preconditionFailure("Changes ask no questions.")
            }
        }
    }

    /// Makes one commit of what `body` changes, or none where it changes nothing or throws; returns
    /// the commit that has the changes, or the newest there is.
    ///
    /// It runs under the lock of those who write, and sees all commits before it, durable or not.
    func write<Result>(
        from origin: CommitOrigin?,
        append: (WriteBatch) throws(StorageError) -> CommitID,
        _ body: (inout DocumentTransaction) throws(WriteError) -> Result
    ) throws(WriteError) -> (CommitID, Result) {
        try state.withLock { state throws(WriteError) in
            var transaction = begin(&state)
            // Handed over and taken back: a copy would be made with each commit.
            defer { state.pending = transaction.pending }
            do throws(WriteError) {
                let result = try body(&transaction)
                do throws(EngineError) {
                    return (try self.commit(&transaction, from: origin, &state, append), result)
                } catch {
                    throw .engine(error)
                }
            } catch {
                transaction.rollBack()
                throw error
            }
        }
    }

    private func begin(_ state: inout WriterState) -> DocumentTransaction {
        let snapshot = store.snapshot()
        state.pending.forget(through: snapshot.commit)
        // The next write is later than the last record, because a backup can end with that record.
        if !state.isClockApart { state.clock.advance(toMilliseconds: store.appendedAt) }
        var transaction = DocumentTransaction(
            snapshot, state.directory, state.clock,
            now: store.options.clock.wallMilliseconds(), state.pending.taken(),
            maximumChangedLength: store.options.transactionLength)
        transaction.ownWrites = state.ownWrites
        transaction.formerSites = state.formerSites.sites
        transaction.knownPauses = state.knownPauses
        transaction.unproven = state.unproven.begun(after: snapshot.commit)
        return transaction
    }

    // MARK: Transactions of several steps

    /// Has commits told for peers from now on; returns the last one that may not be told.
    func wantPeerFeed(_ isWanted: Bool) -> CommitID {
        state.withLock { state in
            peerFeed.want(isWanted)
            return max(store.snapshot().commit, state.pending.lastCommit)
        }
    }

    /// What commits up to this one have changed, for peers; and the last of them that is not told.
    func takePeerFeed(
        through commit: CommitID
    ) -> (changes: [CommitFeed.Change], untold: CommitID?) {
        state.withLock { _ in
            (peerFeed.takeEach(through: commit), peerFeed.takeUntold(through: commit))
        }
    }

    /// Wants the feed to tell of all commits from now on; returns the last one it may not tell of.
    package func wantFeed() -> CommitID {
        state.withLock { state in
            feed.want(true)
            return max(store.snapshot().commit, state.pending.lastCommit)
        }
    }

    /// What commits up to this one have changed.
    ///
    /// Under the lock of those who write, or a commit could be durable before it is written down.
    func takeFeed(through commit: CommitID) -> [CommitFeed.Change] {
        state.withLock { _ in feed.take(through: commit) }
    }

    /// Begins a transaction.
    ///
    /// Until it has ended nobody else may write, which who calls sees to.
    package func begin() -> DocumentTransaction {
        state.withLock { begin(&$0) }
    }

    /// Makes one commit of a transaction; returns the commit that has its changes, or the newest.
    ///
    /// Where it throws, the transaction is rolled back.
    package func commit(
        _ transaction: inout DocumentTransaction,
        append: (WriteBatch) throws(StorageError) -> CommitID
    ) throws(EngineError) -> CommitID {
        try state.withLock { state throws(EngineError) in
            defer { state.pending = transaction.pending }
            do throws(EngineError) {
                return try commit(&transaction, from: nil, &state, append)
            } catch {
                transaction.rollBack()
                throw error
            }
        }
    }

    /// Ends a transaction without a trace.
    package func rollBack(_ transaction: inout DocumentTransaction) {
        transaction.rollBack()
        state.withLock { $0.pending = transaction.pending }
    }

    private func commit(
        _ transaction: inout DocumentTransaction, from origin: CommitOrigin?,
        _ state: inout WriterState, _ append: (WriteBatch) throws(StorageError) -> CommitID
    ) throws(EngineError) -> CommitID {
        guard transaction.hasChanges else {
            let newest = max(transaction.snapshot.commit, transaction.pending.lastCommit)
            if let site = transaction.nextSite {
                beginHandover(to: site, &state)
                state.handover?.commit = newest
            }
            return newest
        }
        if !transaction.tokens.isEmpty {
            tokenWatch.withLock { $0 }?(transaction.tokens)
        }
        if transaction.hasChangedSite { leaveSite(&state) }
        // Names that this commit uses for the first time come with it, be it lost or not.
        state.clock = transaction.clock
        if transaction.hasChangedSite {
            (state.isSiteWritten, state.ownWrites) = (false, .ofNewSite)
        }
        if let site = transaction.nextSite { beginHandover(to: site, &state) }
        if state.isClockApart {
            state.isClockApart = state.clock.latest.milliseconds < transaction.snapshot.commitAt
            state.isSiteWritten = false
        }
        // Others may have given numbers to names since the transaction has begun.
        transaction.directory.takeNames(of: state.directory)
        state.directory = transaction.directory
        publish(state.directory)
        transaction.knownPauses = state.knownPauses
        try state.mark.make(in: store)
        state.ownWrites.noteCommit(transaction.stamp?.time ?? transaction.clock.latest.next)
        let batch = try transaction.batch(
            from: origin, writing: state.siteWriting, state.registry)
        let commit = try onStorage { () throws(StorageError) in try append(batch) }
        if transaction.nextSite != nil { state.handover?.commit = commit }
        state.noteSiteWritten()
        state.mark.noteWritten(by: commit, in: store)
        state.knownPauses.noteWritten()
        state.registry.noteWritten(state.directory)
        transaction.noteWritten(by: commit)
        state.unproven.noteWritten(transaction.unproven, by: commit)
        if state.unproven.isAny { mayHaveUnproven.store(true, ordering: .releasing) }
        feed.note(transaction, of: commit, from: origin)
        peerFeed.note(transaction, of: commit, from: origin)
        for bytes in transaction.spellings { state.registry.note(bytes, in: &state.directory) }
        if transaction.metOwnFuture {
            // Somebody has seen what this store does not know to have written: it is an older state of
            // itself, and goes on as somebody else.
            draw(Self.drawSite(store.options.random), &state)
        }
        return commit
    }
}
