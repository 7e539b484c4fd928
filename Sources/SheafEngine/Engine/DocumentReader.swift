import SheafDocument
package import SheafStorage
import Synchronization

/// The documents of a read-only store, which follow the commits of a writer in another process.
///
/// It has no thread of its own: `refresh` reads new commits.
package final class DocumentReader: Sendable {
    private struct State: Sendable {
        var snapshot: DocumentSnapshot
        /// The damage that prevents the indexes, if any.
        var indexFailure: EngineError?
    }

    private let follower: LogFollower
    private let state: Mutex<State>
    /// Held while new commits are read; readers of the state do not wait for it.
    private let refreshing = Mutex(())
    /// The change feed of observers.
    private let feed = CommitFeed()
    private let hook = Mutex<(@Sendable () -> Void)?>(nil)

    /// Reads the newest commit of an opened store.
    ///
    /// Index entries missing from the checkpoint are created in memory.
    package init(_ reader: LogReader) throws(EngineError) {
        let follower = try onStorage { () throws(StorageError) in try LogFollower(reader) }
        self.follower = follower
        state = Mutex(try Self.state(of: follower))
    }

    private static func state(of follower: LogFollower) throws(EngineError) -> State {
        let catalog = try Catalog(follower.snapshot)
        // Without indexes, all undamaged documents can still be read.
        do throws(EngineError) {
            return State(
                snapshot: DocumentSnapshot(try IndexRepair.repair(follower, catalog), catalog))
        } catch {
            return State(
                snapshot: DocumentSnapshot(follower.snapshot, catalog), indexFailure: error)
        }
    }

    /// The newest snapshot that was read.
    package var snapshot: DocumentSnapshot { state.withLock { $0.snapshot } }

    package var indexFailure: EngineError? { state.withLock { $0.indexFailure } }

    /// Reads the commits that other processes have made durable.
    package func refresh() throws(EngineError) {
        let isChanged = try refreshing.withLock { _ throws(EngineError) in
            let advance = try onStorage { () throws(StorageError) in try follower.advance() }
            guard let advance else { return false }
            try apply(advance)
            return true
        }
        if isChanged { hook.withLock { $0 }?() }
    }

    private func apply(_ advance: LogFollower.Advance) throws(EngineError) {
        let old = state.withLock { $0 }
        guard let keys = advance.changedKeys, old.indexFailure == nil else {
            let new = try Self.state(of: follower)
            state.withLock { $0 = new }
            return feed.recordUnknown(through: new.snapshot.log.commit)
        }
        let isCatalogChanged = keys.contains { key in
            key.withUnsafeBytes { StoreKey($0)?.isOfCatalog ?? false }
        }
        let catalog = isCatalogChanged ? try Catalog(advance.snapshot) : old.snapshot.catalog
        let unindexed = DocumentSnapshot(advance.snapshot, catalog)
        var new = State(snapshot: unindexed)
        do throws(EngineError) {
            let changed = keys.map { key in
                ChangedKey(key, key.withUnsafeBytes { unindexed.log.recordPointer(of: $0) })
            }
            let changes = try IndexRepair.changes(from: old.snapshot, to: unindexed, changed)
            new.snapshot = DocumentSnapshot(follower.indexed(by: changes), catalog)
        } catch {
            new.indexFailure = error
        }
        recordChanges(of: keys, from: old.snapshot, by: new.snapshot.log.commit)
        state.withLock { $0 = new }
    }

    /// Records the changed documents for observers, before the new snapshot is visible.
    private func recordChanges(
        of keys: [[UInt8]], from old: DocumentSnapshot, by commit: CommitID
    ) {
        guard feed.isRecorded else { return }
        var changes: [CommitFeed.Change] = []
        for key in keys {
            guard key.withUnsafeBytes({ StoreKey.collection(ofDocument: $0) }) != nil else {
                continue
            }
            let before: StoredDocument?
            do throws(EngineError) { before = try old.document(key) } catch {
                return feed.recordUnknown(through: commit)
            }
            changes.append(
                CommitFeed.Change(
                    key: DocumentKey(key), before: before, isEvicted: false, commit: commit,
                    origin: nil, connection: nil, stamp: nil))
        }
        feed.record(changes)
    }

    /// Starts the feed of observers; returns the last commit that it may omit.
    package func startFeed() -> CommitID {
        refreshing.withLock { _ in
            feed.setRecording(true)
            return snapshot.log.commit
        }
    }

    /// Removes and returns the changes up to `commit` for observers, one per document.
    ///
    /// Returns nil if any document may have changed.
    package func drainFeed(through commit: CommitID) -> [CommitFeed.Change]? {
        let changes = feed.drainMerged(through: commit)
        return feed.drainUnknown(through: commit) ? nil : changes
    }

    /// Ends the feed of observers.
    package func stopFeed() {
        feed.setRecording(false)
    }

    /// Sets a callback for each refresh that reads new commits; it must not block.
    package func onRefresh(_ body: (@Sendable () -> Void)?) {
        hook.withLock { $0 = body }
    }

    /// Starts to watch for new commits; nil if the system cannot, or the store has no mark.
    package func watch() -> (any VolumeWatch)? { follower.watch() }
}
