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
/// One hub does it, which it ensures by compare-and-swap; another one may begin anew once the
/// takeover time has passed. Nothing is shared meanwhile, so nothing is acknowledged.
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
    private var log: any HubStorage { file.log }
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
    ///
    /// - Parameter number: The least number of the new log.
    /// - Parameter isForced: Whether the hub takes over although another one has time left.
    package func run(
        _ old: HubLogID, number: UInt64 = 0, isForced: Bool = false,
        _ onStep: (Step) throws(SnapshotFailure) -> Void = { _ in }
    ) throws(SnapshotFailure) -> Outcome {
        guard try announce(old, isForced: isForced) else { return .left }
        try onStep(.announced)
        try peer.stopSharing(until: stop)
        try onStep(.stopped)
        let new = HubLogID(
            low: OperatingSystem.randomInteger(), high: OperatingSystem.randomInteger())
        let map = try file.existing().map
        // All commits are durable that this snapshot has, those of clients included.
        let snapshot = peer.queries.documents.snapshot()
        let opening = OperatingSystem.randomInteger() | 1
        var hashes: [XXH3.Hash128] = []
        do throws(SnapshotFailure) {
            try onLog { () throws(HubLogError) in
                try log.create(new, shardCount: map.shardCount)
            }
            var turn = Turn(at: peer.wallMilliseconds, settings)
            try keep(&turn, old, isDue: true)
            try onStep(.created)
            for shard in 0..<UInt16(clamping: map.shardCount) {
                let source = source(shard, of: new, map, snapshot, opening)
                hashes.append(try write(source, old, &turn, onStep))
            }
        } catch {
            _ = leave(new)
            if let replacement = try? file.existing().replacement, replacement.hub != key {
                return .left
            }
            throw error
        }
        // After an error, the engine may still change the configuration: the log must remain.
        guard try open(new, number, replacing: old, hashes) else { return leave(new) }
        try onStep(.opened)
        let feed = try record(new, map, snapshot, opening)
        try onStep(.recorded)
        return .replaced(feed)
    }

    /// Lets another hub begin anew immediately, since this one cannot finish.
    package func release(_ old: HubLogID) throws(SnapshotFailure) {
        _ = try file.decide { (configuration) throws(SnapshotFailure) in
            guard configuration.log == old, configuration.replacement?.hub == key else {
                return .refuse
            }
            configuration.replacement = HubConfiguration.Replacement(
                hub: key, takeoverMilliseconds: max(1, peer.wallMilliseconds))
            return .store
        }
    }

    /// Removes a new log that the configuration does not name, and cannot name later.
    private func leave(_ new: HubLogID) -> Outcome {
        do throws(HubLogError) { try log.remove(new) } catch {
            peer.queries.log?.write(
                .warning, "the unfinished log \(new.text) cannot be removed: \(error)")
        }
        return .left
    }

    // MARK: The configuration

    /// Announces the replacement, so that no other hub begins one; returns false if one has.
    private func announce(_ old: HubLogID, isForced: Bool) throws(SnapshotFailure) -> Bool {
        try file.decide { (configuration) throws(SnapshotFailure) in
            guard configuration.log == old else { return .refuse }
            let now = peer.wallMilliseconds
            if let other = configuration.replacement, other.hub != key, !isForced,
                now < other.takeoverMilliseconds
            {
                return .refuse
            }
            configuration.replacement = replacement(at: now)
            return .store
        }
    }

    /// Postpones the time at which another hub may take over, if that is due; throws if one has.
    private func keep(
        _ turn: inout Turn, _ old: HubLogID, isDue: Bool = false
    ) throws(SnapshotFailure) {
        let now = peer.wallMilliseconds
        guard turn.isDue(at: now) || isDue else { return }
        let isOwn = try file.decide { (configuration) throws(SnapshotFailure) in
            guard configuration.log == old, configuration.replacement?.hub == key else {
                return .refuse
            }
            configuration.replacement = replacement(at: now)
            return .store
        }
        guard isOwn else {
            throw .configuration("another hub has taken over the replacement of the log")
        }
    }

    private func replacement(at now: UInt64) -> HubConfiguration.Replacement {
        HubConfiguration.Replacement(
            hub: key, takeoverMilliseconds: now + settings.takeoverMilliseconds)
    }

    private func open(
        _ new: HubLogID, _ number: UInt64, replacing old: HubLogID, _ hashes: [XXH3.Hash128]
    ) throws(SnapshotFailure) -> Bool {
        try file.decide { (configuration) throws(SnapshotFailure) in
            // The engine may have replaced the configuration without responding.
            if configuration.log == new { return .exists }
            guard configuration.log == old, configuration.replacement?.hub == key else {
                return .refuse
            }
            configuration.replacement = nil
            configuration.log = new
            configuration.number = max(configuration.number + 1, number)
            configuration.snapshots = hashes.map { HubConfiguration.Snapshots(newest: $0) }
            return .store
        }
    }

    // MARK: The documents

    private func source(
        _ shard: UInt16, of new: HubLogID, _ map: ShardMap, _ snapshot: DocumentSnapshot,
        _ opening: UInt64
    ) -> HubShardSource {
        HubShardSource(
            log: new, shard: shard, map: map,
            author: HubAuthor(site: peer.queries.documents.site, opening: opening),
            position: .start, snapshot: snapshot)
    }

    /// Writes and verifies the snapshot of a shard of the new log.
    private func write(
        _ source: HubShardSource, _ old: HubLogID, _ turn: inout Turn,
        _ onStep: (Step) throws(SnapshotFailure) -> Void
    ) throws(SnapshotFailure) -> XXH3.Hash128 {
        try keep(&turn, old)
        var current = turn
        defer { turn = current }
        let onPart: (Int) throws(SnapshotFailure) -> Void = { (_) throws(SnapshotFailure) in
            try keep(&current, old)
        }
        var writer = SnapshotWriter(
            source, peer.queries, to: log, partLength: settings.partLength, until: stop)
        let (hash, manifest) = try writer.write(at: peer.wallMilliseconds, onPart)
        try onStep(.written)
        // Another hub may not be there, and this one has nothing else to read it with.
        try SnapshotReader.verify(manifest, source.map, from: log, until: stop, onPart)
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

    private func onLog(
        _ body: () throws(HubLogError) -> Void
    ) throws(SnapshotFailure) {
        do throws(HubLogError) { try body() } catch { throw .log(error) }
    }

    /// When the time of a takeover must be postponed again.
    private struct Turn {
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
