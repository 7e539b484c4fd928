import SheafBytes
import SheafDocument
package import SheafStorage
import SheafSystem
import Synchronization

/// The result of a clock repair.
package struct ClockRepair: Sendable, Equatable {
    /// Milliseconds that the clock of the store was ahead; nil if it was not ahead.
    package fileprivate(set) var clockAheadMilliseconds: UInt64?
    /// Number of rewritten documents.
    package fileprivate(set) var documentCount = 0
    /// The last commit of the repair; nil if nothing was written.
    package fileprivate(set) var commit: CommitID?
}

extension DocumentEngine {
    static func randomSite(_ random: () -> UInt64) -> Site {
        while true {
            let site = Site(rawValue: random())
            if site != .initial, site != EncodedDocument.evictionSite { return site }
        }
    }

    /// Rewrites all documents with stamps ahead of the system clock, and resets the clock.
    ///
    /// The store continues with a new site whose clock starts at the current time. The rewritten
    /// documents are committed as usual, so peers receive them.
    package func repairClock(
        append: (WriteBatch) throws(StorageError) -> CommitID,
        flush: () throws(StorageError) -> Void
    ) throws(EngineError) -> ClockRepair {
        var repair = ClockRepair()
        // The timestamp of the newest record shows how far the records are ahead.
        try onStorage(flush)
        let wall = min(
            store.options.clock.wallMilliseconds(), HybridTime.maximumMilliseconds)
        (repair.clockAheadMilliseconds, repair.commit) = try resetClock(at: wall, append: append)
        try onStorage(flush)
        let snapshot = snapshot()
        var keys: [DocumentKey] = []
        func write() throws(EngineError) {
            let chunk = keys
            keys = []
            guard !chunk.isEmpty else { return }
            let (commit, count) = try restamp(chunk, at: wall, append: append)
            repair.documentCount += count
            if count > 0 { repair.commit = commit }
            try onStorage(flush)
        }
        var length = 0
        try ClockSurvey.forEachDocument(of: snapshot, aheadOf: wall) {
            (key, _, _, bytes) throws(EngineError) in
            keys.append(DocumentKey(key))
            length += bytes
            guard keys.count >= Self.maximumRestampedCount || length >= Self.maximumRestampedBytes
            else {
                return
            }
            length = 0
            try write()
        }
        try write()
        return repair
    }

    /// Maximum number of documents in one commit of a repair, and of their bytes.
    private static let maximumRestampedCount = 1_024
    private static let maximumRestampedBytes = 16 << 20

    /// Switches to a new site with a current clock if the clock of the store is ahead.
    ///
    /// Returns how far it was ahead. Opening a store continues from the timestamp of the newest
    /// record, which can be in the future even if no stamp of a document is.
    private func resetClock(
        at wall: UInt64, append: (WriteBatch) throws(StorageError) -> CommitID
    ) throws(EngineError) -> (ahead: UInt64?, commit: CommitID?) {
        try state.withLock { state throws(EngineError) in
            var latest = state.clock.latest.milliseconds
            if !state.isClockEarlierThanLog { latest = max(latest, store.snapshot().commitAt) }
            guard latest > wall else { return (nil, nil) }
            recordOwnPauses(&state)
            state.ownWrites = .ofNewSite
            state.clock = HybridClock(
                site: Self.randomSite(store.options.random),
                latest: HybridTime(milliseconds: wall),
                leniencyMilliseconds: state.clock.leniencyMilliseconds)
            state.isClockEarlierThanLog = true
            state.isSiteWritten = false
            try state.mark.create(in: store)
            var batch = WriteBatch()
            batch.keepsIndexProgress = true
            let commit = try onStorage { () throws(StorageError) in
                try state.siteRecordUpdate?.write(into: &batch)
                try state.knownPauses.write(into: &batch)
                return try append(batch)
            }
            state.markSiteWritten()
            state.knownPauses.markWritten()
            state.mark.markWritten(by: commit, in: store)
            return (latest - wall, commit)
        }
    }

    private func restamp(
        _ keys: [DocumentKey], at wall: UInt64,
        append: (WriteBatch) throws(StorageError) -> CommitID
    ) throws(EngineError) -> (CommitID, Int) {
        try write(from: nil, append: append) { (transaction) throws(EngineError) in
            var count = 0
            for key in keys where try transaction.restamp(key, at: wall) { count += 1 }
            return count
        }
    }
}

/// Clock repair of a closed store.
package enum StoreClockRepair {
    /// Opens a store, repairs its clock and its documents, and closes it.
    package static func run(
        at path: String, options: LogStoreOptions
    ) throws(EngineError) -> ClockRepair {
        let engine = try onStorage { () throws(StorageError) in
            try StoreEngine.open(existing: path, options: options)
        }
        do throws(EngineError) {
            let documents = try DocumentEngine(engine)
            let repair = try documents.repairClock { (batch) throws(StorageError) in
                try engine.append(batch)
            } flush: { () throws(StorageError) in
                while try engine.flush() {}
            }
            try onStorage { () throws(StorageError) in try engine.close() }
            return repair
        } catch {
            try? engine.close()
            throw error
        }
    }
}

extension DocumentTransaction {
    /// Replaces the stamps of a document that are ahead; returns false if there are none.
    fileprivate mutating func restamp(
        _ key: DocumentKey, at wall: UInt64
    ) throws(EngineError) -> Bool {
        let position = try open(key)
        guard let state = working[position].state else { return false }
        let names = catalog.names
        let found: RestampedDocument?
        do throws(DocumentError) {
            found = try state.span.withUnsafeBytes { bytes throws(DocumentError) in
                try RestampedDocument(bytes, at: wall, names)
            }
        } catch {
            guard case .malformed(let reason) = error else { throw .document(error) }
            throw .damaged(key: key.bytes, reason)
        }
        guard let restamped = found else { return false }
        // The clock advances past the new times, which can be slightly ahead if there are many.
        try observe(restamped.latest)
        return try working[position].applyIfNew(
            ChangedBytes(bytes: restamped.bytes), isPartial: false, names)
    }
}
