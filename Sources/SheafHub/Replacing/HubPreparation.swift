import SheafBytes
import SheafDocument
import SheafEngine
package import SheafHubLog
package import SheafReplication
import SheafStatements
import SheafStorage
package import SheafSystem

/// The preparation of a store for a hub log: what the log no longer has is loaded from snapshots.
package struct HubPreparation {
    private let peer: any HubPeer
    private let objects: any HubObjects
    private let settings: HubSettings
    private let stop: EvaluationStop

    package init(
        _ peer: any HubPeer, _ objects: any HubObjects, _ settings: HubSettings = HubSettings(),
        until stop: EvaluationStop = EvaluationStop()
    ) {
        self.peer = peer
        self.objects = objects
        self.settings = settings
        self.stop = stop
    }

    /// Blocks until the store has what the log lacks, and returns how to share the log.
    ///
    /// Nothing may be shared meanwhile. `onPart` gets the number of loaded documents of each part.
    package func prepare(
        _ configuration: HubConfiguration, _ onPart: (Int) -> Void = { _ in }
    ) throws(SnapshotFailure) -> HubFeedConfiguration {
        var feed = HubFeedConfiguration(log: configuration.log, map: configuration.map)
        feed.versions = settings.versions
        let nonce = OperatingSystem.randomInteger() | 1
        feed.opening = nonce
        for number in 0..<configuration.map.shardCount {
            let shard = UInt16(number)
            let known = try storedShard(shard)
            let snapshots = configuration.snapshots[number]
            guard let lacking = try rule(known, snapshots, in: configuration.log) else { continue }
            var hashes = [snapshots.newest, snapshots.earlier].compactMap { $0 }
            while let hash = hashes.first {
                hashes.removeFirst()
                do throws(SnapshotFailure) {
                    let manifest = try SnapshotManifest.load(hash, from: objects)
                    feed.loaded[shard] = try load(
                        manifest, configuration.map, known, nonce, lacking, onPart)
                    hashes = []
                } catch {
                    // The entries after the earlier snapshot are there, too.
                    guard error.isOfObject, !hashes.isEmpty else { throw error }
                    peer.queries.log?.write(
                        .error, "the newest snapshot of the hub log cannot be used: \(error)")
                }
            }
        }
        return feed
    }

    /// Whether entries that a store needs may have been removed from its log.
    package static func isTrimmed(
        _ entry: UInt64, _ snapshots: HubConfiguration.Snapshots, _ objects: any HubObjects
    ) throws(SnapshotFailure) -> Bool {
        guard let earlier = snapshots.earlier else { return false }
        return entry < (try SnapshotManifest.load(earlier, from: objects)).position.entry
    }

    private func storedShard(_ shard: UInt16) throws(SnapshotFailure) -> StoredShard? {
        do throws(EngineError) {
            return try peer.queries.documents.snapshot().storedShard(shard)
        } catch {
            throw .store(error)
        }
    }

    /// Returns what happens to documents that the snapshot lacks; nil if it is not loaded.
    private func rule(
        _ known: StoredShard?, _ snapshots: HubConfiguration.Snapshots, in log: HubLogID
    ) throws(SnapshotFailure) -> SnapshotLoader.Lacking? {
        // A log without snapshots has all entries, and the feed appends a store of another log.
        guard snapshots.newest != nil else { return nil }
        guard let known else { return .append }
        if known.log == log, known.wallMilliseconds > 0,
            try !mayBeTrimmed(known.position.entry, snapshots)
        {
            return nil
        }
        let parameters = peer.queries.parameters.values
        guard parameters.collectsTombstones else { return .append }
        let isOld = Self.mayLackTombstones(
            since: known.wallMilliseconds, lifetime: parameters.tombstoneLifetimeMilliseconds,
            at: peer.wallMilliseconds)
        return isOld ? .evict(unlessWrittenAfter: known.commit) : .append
    }

    /// Whether a snapshot may lack tombstones of documents that were deleted since a time.
    ///
    /// True once half of their lifetime has passed since then.
    package static func mayLackTombstones(
        since time: UInt64, lifetime: UInt64, at now: UInt64
    ) -> Bool {
        now.hasPassed(lifetime / 2, since: time)
    }

    /// Whether entries that a store needs may have been removed; true if a snapshot that shows it
    /// cannot be read.
    private func mayBeTrimmed(
        _ entry: UInt64, _ snapshots: HubConfiguration.Snapshots
    ) throws(SnapshotFailure) -> Bool {
        do throws(SnapshotFailure) {
            return try Self.isTrimmed(entry, snapshots, objects)
        } catch {
            guard error.isOfObject else { throw error }
            return true
        }
    }

    private func load(
        _ manifest: SnapshotManifest, _ map: ShardMap, _ known: StoredShard?, _ nonce: UInt64,
        _ lacking: SnapshotLoader.Lacking, _ onPart: (Int) -> Void
    ) throws(SnapshotFailure) -> LoadedShard {
        var loader = SnapshotLoader(
            manifest, map, from: objects, into: peer, peer.queries, known: known, nonce: nonce,
            lacking: lacking, commitLength: settings.commitLength, until: stop)
        return try loader.load(onPart)
    }
}
