import SheafBytes
import SheafDocument
import SheafEngine
package import SheafHubLog
package import SheafReplication
import SheafStatements
import SheafStorage
package import SheafSystem

/// The replacement of a hub log by a new one, which begins with the documents of this hub.
///
/// One hub does it, which it ensures by compare-and-swap; another one may begin anew once it has
/// not been heard of for a while. Nothing is shared meanwhile, so nothing is acknowledged.
package struct LogReplacement {
    /// The steps of a replacement, in their order.
    package enum Step: CaseIterable, Sendable {
        case announced, stopped, created, written, verified, opened, recorded
    }

    /// The end of an attempt.
    package enum Outcome: Sendable {
        /// The log was replaced; this is how to share the new one.
        case replaced(HubFeedConfiguration)
        /// Another hub replaces the log, or has done so.
        case left
    }

    private let peer: any HubPeer
    private let file: ConfigurationFile
    private var log: any HubLog { file.log }
    private let key: [UInt8]
    private let settings: HubSettings
    private let stop: EvaluationStop

    package init(
        _ peer: any HubPeer, _ file: ConfigurationFile, key: [UInt8],
        _ settings: HubSettings = HubSettings(), until stop: EvaluationStop = EvaluationStop()
    ) {
        self.peer = peer
        self.file = file
        self.key = key
        self.settings = settings
        self.stop = stop
    }

    /// Blocks until a log is replaced by this hub, or found to be replaced by another one.
    ///
    /// `onStep` is called after each step.
    package func run(
        _ old: HubLogID, _ onStep: (Step) throws(SnapshotFailure) -> Void = { _ in }
    ) throws(SnapshotFailure) -> Outcome {
        guard try announce(old) else { return .left }
        try onStep(.announced)
        try peer.stopSharing(until: stop)
        try onStep(.stopped)
        let new = HubLogID(
            low: OperatingSystem.randomInteger(), high: OperatingSystem.randomInteger())
        let map = try file.existing().map
        do throws(HubLogError) {
            try log.create(new, shardCount: map.shardCount)
        } catch {
            throw .log(error)
        }
        try onStep(.created)
        // All commits are durable that this snapshot has, those of clients included.
        let snapshot = peer.queries.documents.snapshot()
        let opening = OperatingSystem.randomInteger() | 1
        var hashes: [XXH3.Hash128] = []
        for shard in 0..<UInt16(clamping: map.shardCount) {
            hashes.append(try write(shard, of: new, map, snapshot, opening, old, onStep))
        }
        guard try open(new, replacing: old, hashes) else {
            // Another hub has taken over.
            do throws(HubLogError) { try log.remove(new) } catch { throw .log(error) }
            return .left
        }
        try onStep(.opened)
        let feed = try record(new, map, snapshot, opening)
        try onStep(.recorded)
        return .replaced(feed)
    }

    // MARK: The configuration

    /// Announces the replacement, so that no other hub begins one; returns false if one has.
    private func announce(_ old: HubLogID) throws(SnapshotFailure) -> Bool {
        try file.decide { (configuration) throws(SnapshotFailure) in
            guard configuration.log == old else { return .refuse }
            let now = peer.wallMilliseconds
            if let other = configuration.replacement, other.hub != key,
                now < other.takeoverMilliseconds
            {
                return .refuse
            }
            configuration.replacement = replacement(at: now)
            return .store
        }
    }

    /// Postpones the time at which another hub may take over; throws if one has.
    private func renew(_ old: HubLogID) throws(SnapshotFailure) {
        let isOwn = try file.decide { (configuration) throws(SnapshotFailure) in
            guard configuration.log == old, configuration.replacement?.hub == key else {
                return .refuse
            }
            configuration.replacement = replacement(at: peer.wallMilliseconds)
            return .store
        }
        guard isOwn else { throw .stopped }
    }

    private func replacement(at now: UInt64) -> HubConfiguration.Replacement {
        HubConfiguration.Replacement(
            hub: key, takeoverMilliseconds: now + settings.takeoverMilliseconds)
    }

    private func open(
        _ new: HubLogID, replacing old: HubLogID, _ hashes: [XXH3.Hash128]
    ) throws(SnapshotFailure) -> Bool {
        try file.decide { (configuration) throws(SnapshotFailure) in
            // The engine may have replaced the configuration without responding.
            if configuration.log == new { return .exists }
            guard configuration.log == old, configuration.replacement?.hub == key else {
                return .refuse
            }
            configuration.replacement = nil
            configuration.log = new
            configuration.number += 1
            configuration.snapshots = hashes.map { HubConfiguration.Snapshots(newest: $0) }
            return .store
        }
    }

    // MARK: The snapshots

    /// Writes the first snapshot of a shard, and reads it back; returns the hash of the manifest.
    private func write(
        _ shard: UInt16, of new: HubLogID, _ map: ShardMap, _ snapshot: DocumentSnapshot,
        _ opening: UInt64, _ old: HubLogID, _ onStep: (Step) throws(SnapshotFailure) -> Void
    ) throws(SnapshotFailure) -> XXH3.Hash128 {
        let author = HubAuthor(site: peer.queries.documents.site, opening: opening)
        let source = HubShardSource(
            log: new, shard: shard, map: map, author: author, position: .start, snapshot: snapshot)
        var renewal = Renewal(at: peer.wallMilliseconds, settings)
        var failure: SnapshotFailure?
        let onPart: (Int) -> Void = { _ in
            guard failure == nil, renewal.isDue(at: peer.wallMilliseconds) else { return }
            do throws(SnapshotFailure) { try renew(old) } catch { failure = error }
        }
        var writer = SnapshotWriter(
            source, peer.queries, to: log, partLength: settings.partLength, until: stop)
        let (hash, manifest) = try writer.write(at: peer.wallMilliseconds, onPart)
        if let failure { throw failure }
        try onStep(.written)
        // Another hub may not be there, and this one has nothing else to read it with.
        try SnapshotReader.verify(manifest, map, from: log, until: stop, onPart)
        if let failure { throw failure }
        try onStep(.verified)
        return hash
    }

    /// Records in the store that it has the snapshots, and returns how to share the new log.
    private func record(
        _ new: HubLogID, _ map: ShardMap, _ snapshot: DocumentSnapshot, _ opening: UInt64
    ) throws(SnapshotFailure) -> HubFeedConfiguration {
        var feed = HubFeedConfiguration(log: new, map: map)
        feed.versions = settings.versions
        feed.opening = opening
        for shard in 0..<UInt16(clamping: map.shardCount) {
            let stored = StoredShard(
                log: new, position: .start, commit: snapshot.log.commit,
                wallMilliseconds: peer.wallMilliseconds)
            feed.loaded[shard] = try SnapshotLoader.record(
                stored, of: shard, in: peer, peer.queries)
        }
        return feed
    }

    /// When the time of a takeover must be postponed again.
    private struct Renewal {
        private var next: UInt64
        private let interval: UInt64

        init(at now: UInt64, _ settings: HubSettings) {
            interval = settings.takeoverMilliseconds / 4
            next = now + interval
        }

        mutating func isDue(at now: UInt64) -> Bool {
            guard now >= next else { return false }
            next = now + interval
            return true
        }
    }
}
