import SheafBytes
package import SheafDocument
package import SheafStorage
import SheafSystem
package import Synchronization

/// The document layer above the log: applies changes, reads documents, publishes changes.
///
/// It has no thread of its own. The caller of `commit` decides how batches reach the log.
package final class DocumentEngine: Sendable {
    package let store: StoreEngine
    package let state: Mutex<WriterState>
    /// The catalog for readers, separate from `state` so that readers never wait for a writer.
    private let catalog: Mutex<Catalog>
    /// The memory of all transactions, of which one runs at a time.
    private let encodingMemory = EncodingMemory()
    /// The change feed of observers.
    private let feed = CommitFeed()
    /// The change feed of peers.
    let peerFeed: CommitFeed
    /// The function called before a commit, with the attachments that the commit may reference.
    package let referenceHandler = Mutex<(@Sendable ([AttachmentID]) -> Void)?>(nil)
    private let mayHaveUnproven = Atomic(false)
    /// The error of the index repair at opening; nil if the indexes are usable.
    package let indexFailure: EngineError?

    /// The state shared by writers.
    package struct WriterState: Sendable {
        package var catalog: Catalog
        var nameDictionary: NameDictionary
        package var clock: HybridClock
        /// Whether the current site is in the log.
        var isSiteWritten: Bool
        /// The site in the log; `formerSites` are the sites before it.
        var loggedSite: Site?
        package var formerSites = FormerSites()
        /// The identity of the store's files, which distinguishes them from a copy.
        var mark: StoreMark
        /// The periods in which the site has written.
        var ownWrites: OwnWrites
        /// The previous site of the store, if its writes were moved to the current one.
        var siteMove: SiteMoveRecord?
        /// The pauses of the sites of other stores.
        package var knownPauses: KnownPauses
        /// Documents of commits that are not durable yet.
        package var pending = PendingDocuments()
        /// The attachment tokens without proof of possession.
        package var unproven: UnprovenTokens

        /// Whether commits give documents the hashes that peers compare.
        var tracksVersions = false

        /// Whether the clock is earlier than the record times; commits then write it to the log.
        var isClockEarlierThanLog = false

        var siteRecord: SiteRecord {
            SiteRecord(
                site: clock.site, directory: mark.identity,
                clock: isClockEarlierThanLog ? clock.latest : nil,
                pauses: ownWrites.endedPauses)
        }
    }

    /// Reads the catalog and the clock from the log, and repairs the index entries.
    ///
    /// A store has one engine at a time: two would assign the same numbers to different names. A
    /// received commit with more than `maximumListed` new documents is omitted from the feed of
    /// peers.
    package init(_ store: StoreEngine, maximumListed: Int = .max) throws(EngineError) {
        guard store.beginInterpretation() else { throw .inUse }
        peerFeed = CommitFeed(maximumListed: maximumListed)
        var isComplete = false
        defer { if !isComplete { store.endInterpretation() } }
        self.store = store
        let snapshot = store.snapshot()
        let catalog = try Catalog(snapshot)
        self.catalog = Mutex(catalog)
        // A failed index repair is not fatal: queries then run without indexes.
        indexFailure = Self.repairIndexEntries(of: store, catalog)
        let known = try Self.siteRecord(of: snapshot)
        // A copy of a store must not reuse the site, which belongs to the original files.
        let mark = try StoreMark(of: store, known)
        let site = mark.matchesLog ? known?.site : nil
        // No write in the log is later than this time, and every new write is.
        let latest = max(
            try Self.clockTime(of: snapshot) ?? .initial,
            HybridTime(milliseconds: min(snapshot.commitAt, HybridTime.maximumMilliseconds)))
        let seen = snapshot.commit == 0 ? .initial : known?.clock ?? latest
        let clock = HybridClock(
            site: site ?? Self.randomSite(store.options.random),
            latest: Self.initialTime(after: seen, store.options))
        state = Mutex(
            WriterState(
                catalog: catalog, nameDictionary: NameDictionary(catalog), clock: clock,
                isSiteWritten: site != nil && !mark.needsFile, loggedSite: known?.site,
                formerSites: try Self.formerSites(of: snapshot), mark: mark,
                ownWrites: site == nil
                    ? .ofNewSite : OwnWrites(opened: seen, earlier: known?.pauses ?? []),
                knownPauses: try KnownPauses(snapshot),
                unproven: UnprovenTokens(
                    mayHaveEntries: !snapshot.tree.isEmpty(in: StoreKey.unprovenTokens)),
                isClockEarlierThanLog: known?.clock != nil))
        mayHaveUnproven.store(state.withLock(\.unproven.mayHaveEntries), ordering: .relaxed)
        isComplete = true
        store.onPublishingToDocuments { [weak self] in self?.releaseDurable() }
    }

    deinit {
        store.onPublishingToDocuments(nil)
        store.endInterpretation()
    }

    private static func repairIndexEntries(of store: StoreEngine, _ catalog: Catalog)
        -> EngineError?
    {
        do throws(EngineError) {
            try IndexRepair.repair(store, catalog)
            return nil
        } catch {
            return error
        }
    }

    /// Publishes a catalog to readers.
    func publish(_ catalog: Catalog) {
        self.catalog.withLock { $0 = catalog }
    }

    static func siteRecord(of snapshot: LogSnapshot) throws(EngineError) -> SiteRecord? {
        guard let payload = try payload(of: .site, in: snapshot) else { return nil }
        return try onDocument(StoreKey.site.bytes) { () throws(Malformed) in
            try payload.span.withUnsafeBytes { bytes throws(Malformed) in
                try SiteRecord(decoding: bytes)
            }
        }
    }

    /// Returns the latest clock time in the log; nil if the log has none.
    private static func clockTime(of snapshot: LogSnapshot) throws(EngineError) -> HybridTime? {
        guard let payload = try payload(of: .clock, in: snapshot) else { return nil }
        return try onDocument(StoreKey.clock.bytes) { () throws(Malformed) in
            try payload.span.withUnsafeBytes { bytes throws(Malformed) in
                try HybridTime(decoding: bytes)
            }
        }
    }

    package static func payload(
        of key: StoreKey, in snapshot: LogSnapshot
    ) throws(EngineError) -> [UInt8]? {
        try onStorage { () throws(StorageError) in
            try key.bytes.span.withUnsafeBytes { key throws(StorageError) in
                try snapshot.payload(of: key).map { Array($0) }
            }
        }
    }

    /// Replaces the site of this store; the next commit records the new site in the log.
    func switchSite(to site: Site, _ state: inout WriterState) {
        recordOwnPauses(&state)
        state.clock = HybridClock(
            site: site, latest: state.clock.latest,
            leniencyMilliseconds: state.clock.leniencyMilliseconds)
        (state.isSiteWritten, state.ownWrites) = (false, .ofNewSite)
    }

    /// Keeps the pauses of the replaced site: peers may forward documents with its later writes.
    func recordOwnPauses(_ state: inout WriterState) {
        _ = state.knownPauses.add(state.ownPauses)
    }

    /// Returns the initial time of the clock: `latest`, or a random later time if it is not past.
    ///
    /// Without the random time, a restored older store could reuse stamps for other writes.
    private static func initialTime(after latest: HybridTime, _ options: LogStoreOptions)
        -> HybridTime
    {
        let wall = options.clock.wallMilliseconds()
        guard latest.milliseconds >= wall, latest != .initial else { return latest }
        let milliseconds = latest.milliseconds + options.random() % 256 + 1
        return HybridTime(milliseconds: min(milliseconds, HybridTime.maximumMilliseconds))
    }

    /// The newest catalog, including names that the log does not have yet.
    package var newestCatalog: Catalog { catalog.withLock { $0 } }

    /// Assigns numbers to names while there are free ones; returns the resulting table.
    ///
    /// The next commit writes the numbers to the log.
    package func assignNumbers(to names: [[UInt8]]) -> NameTable {
        state.withLock { state in
            for name in names { state.catalog.add(name: name) }
            publish(state.catalog)
            return state.catalog.names
        }
    }

    /// Whether the store has unproven tokens, or had any since it was opened.
    package var mayHaveUnprovenTokens: Bool { mayHaveUnproven.load(ordering: .acquiring) }

    package var site: Site { state.withLock { $0.clock.site } }

    /// Returns the newest durable snapshot.
    package func snapshot() -> DocumentSnapshot {
        // The catalog is read second: names are never removed, so it has all names of the snapshot.
        let snapshot = store.snapshot()
        return DocumentSnapshot(snapshot, catalog.withLock { $0 })
    }

    /// Applies all changes in one commit, or none of them if one fails.
    ///
    /// `append` adds the batch to the log and runs under the writer lock.
    package func commit(
        _ changes: [DocumentChange],
        from origin: CommitOrigin? = nil,
        append: (WriteBatch) throws(StorageError) -> CommitID
    ) throws(EngineError) -> DocumentReceipt {
        let (commit, outcomes) = try write(from: origin, append: append) {
            (transaction) throws(EngineError) in
            var outcomes: [DocumentReceipt.Outcome] = []
            for change in changes { outcomes.append(try transaction.apply(change)) }
            return outcomes
        }
        return DocumentReceipt(commit: commit, outcomes: outcomes)
    }

    /// Commits the changes made by `body`, unless it throws or changes nothing.
    ///
    /// Returns the commit with the changes, or the newest one. A statement throws its error as
    /// `evaluation`; a body that rolls back without an error throws `rolledBack`. `body` runs under
    /// the writer lock, and sees all earlier commits, durable or not.
    package func write<Result>(
        from origin: CommitOrigin?,
        append: (WriteBatch) throws(StorageError) -> CommitID,
        _ body: (inout DocumentTransaction) throws(EngineError) -> Result
    ) throws(EngineError) -> (CommitID, Result) {
        try state.withLock { state throws(EngineError) in
            var transaction = begin(&state)
            // The pending documents are moved out and back, because a copy per commit is expensive.
            defer { state.pending = transaction.pending }
            do throws(EngineError) {
                let result = try body(&transaction)
                return (try self.commit(&transaction, from: origin, &state, append), result)
            } catch {
                transaction.rollBack()
                throw error
            }
        }
    }

    private func begin(_ state: inout WriterState) -> DocumentTransaction {
        let snapshot = store.snapshot()
        state.pending.discard(through: snapshot.commit)
        // The next write must be later than the last record, because a backup can end with it.
        if !state.isClockEarlierThanLog { state.clock.advance(toMilliseconds: store.appendedAt) }
        var transaction = DocumentTransaction(
            store, snapshot, state.catalog, state.clock,
            now: store.options.clock.wallMilliseconds(), state.pending.drain(), in: encodingMemory,
            maximumChangedLength: store.options.transactionLength)
        transaction.ownWrites = state.ownWrites
        transaction.formerSites = state.formerSites.sites
        transaction.knownPauses = state.knownPauses
        transaction.unproven = state.unproven.beginTransaction(after: snapshot.commit)
        return transaction
    }

    /// Starts or stops the feed of peers; returns the last commit that it may omit.
    package func setPeerFeedRecording(_ isWanted: Bool) -> CommitID {
        state.withLock { state in
            peerFeed.setRecording(isWanted)
            return max(store.snapshot().commit, state.pending.lastCommit)
        }
    }

    /// Removes and returns the changes up to `commit` for peers, and the last omitted commit.
    package func drainPeerFeed(
        through commit: CommitID
    ) -> (changes: [CommitFeed.Change], untold: CommitID?) {
        state.withLock { _ in
            (peerFeed.drain(through: commit), peerFeed.drainOmitted(through: commit))
        }
    }

    /// Starts the feed of observers; returns the last commit that it may omit.
    package func startFeed() -> CommitID {
        state.withLock { state in
            feed.setRecording(true)
            return max(store.snapshot().commit, state.pending.lastCommit)
        }
    }

    /// Removes and returns the changes up to `commit` for observers, one per document.
    ///
    /// The writer lock is needed because a commit can be durable before its changes are recorded.
    package func drainFeed(through commit: CommitID) -> [CommitFeed.Change] {
        state.withLock { _ in feed.drainMerged(through: commit) }
    }

    /// Ends the feed of observers.
    package func stopFeed() {
        feed.setRecording(false)
    }

    /// Begins a transaction.
    ///
    /// The caller ensures that there is no other writer until the transaction ends.
    package func begin() -> DocumentTransaction {
        state.withLock { begin(&$0) }
    }

    /// Commits a transaction; returns the commit with its changes, or the newest one.
    ///
    /// If this throws, the transaction is rolled back.
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

    /// Ends a transaction and discards its changes.
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
                beginSiteMove(to: site, &state)
                state.siteMove?.commit = newest
            }
            // Removes uncommitted entries, as of a document inserted and then evicted.
            transaction.rollBack()
            return newest
        }
        if !transaction.tokens.isEmpty {
            referenceHandler.withLock { $0 }?(transaction.tokens)
        }
        if transaction.hasChangedSite { recordOwnPauses(&state) }
        // The state advances before the append, so a failed commit never leads to reused stamps.
        state.clock = transaction.clock
        if transaction.hasChangedSite {
            (state.isSiteWritten, state.ownWrites) = (false, .ofNewSite)
        }
        if let site = transaction.nextSite { beginSiteMove(to: site, &state) }
        if state.isClockEarlierThanLog {
            state.isClockEarlierThanLog =
                state.clock.latest.milliseconds < transaction.snapshot.commitAt
            state.isSiteWritten = false
        }
        // Numbers may have been assigned to names since the transaction began.
        transaction.catalog.adoptNames(of: state.catalog)
        state.catalog = transaction.catalog
        publish(state.catalog)
        transaction.knownPauses = state.knownPauses
        try state.mark.create(in: store)
        state.ownWrites.recordCommit(transaction.stamp?.time ?? transaction.clock.latest.next)
        let batch = try transaction.batch(
            from: origin, writing: state.siteRecordUpdate, state.nameDictionary,
            tracksVersions: state.tracksVersions)
        let commit = try onStorage { () throws(StorageError) in try append(batch) }
        if transaction.nextSite != nil { state.siteMove?.commit = commit }
        state.markSiteWritten()
        state.mark.markWritten(by: commit, in: store)
        state.knownPauses.markWritten()
        state.nameDictionary.markWritten(state.catalog)
        feed.record(transaction, of: commit, from: origin)
        peerFeed.record(transaction, of: commit, from: origin)
        transaction.markWritten(by: commit)
        state.unproven.markWritten(transaction.unproven, by: commit)
        if state.unproven.mayHaveEntries { mayHaveUnproven.store(true, ordering: .releasing) }
        for bytes in transaction.spellings {
            state.nameDictionary.recordOccurrence(of: bytes, in: &state.catalog)
        }
        if transaction.hasUnknownOwnWrites {
            // The store was restored to an older state, or a document with evicted writes returned
            // in an older state: further writes need a new site.
            switchSite(to: Self.randomSite(store.options.random), &state)
        }
        return commit
    }
}
