import SheafBytes
import SheafDocument
import SheafEngine
package import SheafHubLog
package import SheafReplication
import SheafStatements
package import SheafSystem

/// The snapshots of the shards of a log: when one is written, verified and used to trim.
///
/// Several hubs do this at once, and need no order: a snapshot is written once, under the hash of
/// its bytes, and enters the configuration by compare-and-swap after it was verified.
package struct HubSnapshots {
    /// A change to the snapshots or to the log.
    package enum Event: Equatable, Sendable {
        case written(shard: UInt16, entry: UInt64)
        case verified(shard: UInt16, entry: UInt64)
        case refused(shard: UInt16, reason: String)
        case trimmed(shard: UInt16, before: UInt64)
        case removed(String)
    }

    let peer: any HubPeer
    private let file: ConfigurationFile
    private var log: any HubLog { file.log }
    let settings: HubSettings
    let stop: EvaluationStop
    private let pace: HubPace
    /// Manifests by the hashes in their names.
    private var manifests: [XXH3.Hash128: SnapshotManifest] = [:]
    /// Manifests that this hub has found to be damaged.
    private var refused: Set<XXH3.Hash128> = []
    private var candidates: [Candidate] = []
    private var nextList: UInt64 = 0
    private var trimmed: [UInt16: UInt64] = [:]
    /// The newest snapshot of each shard, and what was read of the shard when it was found.
    private var bases: [UInt16: (hash: XXH3.Hash128?, readLength: UInt64, since: UInt64)] = [:]
    var cleaning = ObjectCleaning()

    private struct Candidate {
        let hash: XXH3.Hash128
        let manifest: SnapshotManifest
    }

    package init(
        _ peer: any HubPeer, _ file: ConfigurationFile, _ settings: HubSettings = HubSettings(),
        until stop: EvaluationStop = EvaluationStop()
    ) {
        self.peer = peer
        self.file = file
        self.settings = settings
        self.stop = stop
        pace = HubPace(bytesPerSecond: settings.bytesPerSecond, until: stop)
    }

    /// Blocks while it does what is due, and returns what was done.
    package mutating func step(
        _ configuration: HubConfiguration, _ view: HubView
    ) throws(SnapshotFailure) -> [Event] {
        guard configuration.replacement == nil, configuration.log == view.log, view.isSettled,
            view.hasCaughtUp
        else { return [] }
        let now = peer.wallMilliseconds
        if now >= nextList {
            nextList = now + settings.listMilliseconds
            try findCandidates(configuration)
        }
        var events: [Event] = []
        for shard in 0..<UInt16(clamping: view.shards.count) {
            guard view.shards[Int(shard)].incidents.isEmpty else { continue }
            events += try step(shard, configuration, view, at: now)
        }
        if isChosen(view) {
            events += try cleaning.step(configuration, log, settings, at: now).map { .removed($0) }
        }
        return events
    }

    private mutating func step(
        _ shard: UInt16, _ configuration: HubConfiguration, _ view: HubView, at now: UInt64
    ) throws(SnapshotFailure) -> [Event] {
        let snapshots = configuration.snapshots[Int(shard)]
        recordBase(snapshots, shard, view, at: now)
        var events: [Event] = []
        if let candidate = candidates.last(where: { $0.manifest.shard == shard }),
            now < candidate.manifest.wallMilliseconds + settings.verificationMilliseconds
        {
            if isVerifier(of: candidate.manifest, view) {
                events += try verify(candidate, configuration, view)
            }
        } else if isChosen(view), try isDue(shard, snapshots, view, at: now) {
            events += try write(shard, at: now)
        }
        if isChosen(view), try trim(shard, snapshots, view, at: now) {
            events.append(.trimmed(shard: shard, before: (trimmed[shard] ?? 0) + 1))
        }
        return events
    }

    // MARK: Writing

    /// Whether this hub has the least key of those that are live.
    private func isChosen(_ view: HubView) -> Bool {
        view.others.allSatisfy { view.key.lexicographicallyPrecedes($0.key) }
    }

    private mutating func recordBase(
        _ snapshots: HubConfiguration.Snapshots, _ shard: UInt16, _ view: HubView, at now: UInt64
    ) {
        let known = bases[shard]
        guard known == nil || known?.hash != snapshots.newest else { return }
        let length = known == nil ? 0 : view.shards[Int(shard)].readLength
        bases[shard] = (snapshots.newest, length, now)
    }

    private mutating func isDue(
        _ shard: UInt16, _ snapshots: HubConfiguration.Snapshots, _ view: HubView, at now: UInt64
    ) throws(SnapshotFailure) -> Bool {
        guard let base = bases[shard] else { return false }
        let newest = try snapshots.newest.map { (hash) throws(SnapshotFailure) in
            try manifest(hash)
        }
        let state = view.shards[Int(shard)]
        guard state.progress.stored > newest?.position.entry ?? 0 else { return false }
        let length = state.readLength - min(base.readLength, state.readLength)
        if length > max(settings.snapshotLength, (newest?.length ?? 0) / 2) { return true }
        let since = newest?.wallMilliseconds ?? base.since
        return now >= since + settings.snapshotMilliseconds
    }

    /// Writes a snapshot, which another hub verifies.
    package mutating func write(
        _ shard: UInt16, at now: UInt64
    ) throws(SnapshotFailure) -> [Event] {
        // The position is taken with the snapshot of the store, which has all documents up to it.
        guard let source = try peer.ask({ $0.hubSource(of: shard) }) else { return [] }
        var writer = SnapshotWriter(
            source, peer.queries, to: log, partLength: settings.partLength, until: stop)
        let (hash, manifest) = try writer.write(at: now) { pace.wait($0) }
        manifests[hash] = manifest
        candidates.append(Candidate(hash: hash, manifest: manifest))
        return [.written(shard: shard, entry: manifest.position.entry)]
    }

    // MARK: Verifying

    private mutating func findCandidates(
        _ configuration: HubConfiguration
    ) throws(SnapshotFailure) {
        let names: [String]
        do throws(HubLogError) { names = try log.list(HubObjectName.snapshots) } catch {
            throw .log(error)
        }
        let hashes = Set(names.compactMap { HubObjectName.snapshot(named: $0) })
        manifests = manifests.filter { hashes.contains($0.key) }
        candidates = []
        for hash in hashes where !refused.contains(hash) {
            do throws(SnapshotFailure) {
                let manifest = try manifest(hash)
                guard manifest.log == configuration.log,
                    Int(manifest.shard) < configuration.snapshots.count
                else { continue }
                let newest = configuration.snapshots[Int(manifest.shard)].newest
                let known = try newest.map { (hash) throws(SnapshotFailure) in
                    try self.manifest(hash)
                }
                guard manifest.position.entry > known?.position.entry ?? 0 else { continue }
                candidates.append(Candidate(hash: hash, manifest: manifest))
            } catch {
                // It may have been removed meanwhile.
                guard error.isOfObject else { throw error }
                refused.insert(hash)
                report(error)
            }
        }
        candidates.sort {
            ($0.manifest.position.entry, $0.manifest.wallMilliseconds)
                < ($1.manifest.position.entry, $1.manifest.wallMilliseconds)
        }
    }

    /// Whether this hub has the least key of the live hubs that have not written the snapshot.
    private func isVerifier(of manifest: SnapshotManifest, _ view: HubView) -> Bool {
        let others = view.others.filter { $0.author != manifest.author }
        if manifest.author == view.author { return others.isEmpty }
        return others.allSatisfy { view.key.lexicographicallyPrecedes($0.key) }
    }

    private mutating func verify(
        _ candidate: Candidate, _ configuration: HubConfiguration, _ view: HubView
    ) throws(SnapshotFailure) -> [Event] {
        let manifest = candidate.manifest
        let (shard, position) = (manifest.shard, manifest.position)
        // An earlier one could not tell whether the digest is the right one.
        guard view.shards[Int(shard)].progress.read >= position.entry else { return [] }
        do throws(SnapshotFailure) {
            let digest = try peer.ask { $0.hubDigest(at: position.entry, of: shard) }
            guard digest == nil || digest == position.digest else {
                throw .damaged(
                    object: HubObjectName.snapshot(candidate.hash),
                    reason: "its digest is not that of the entries that this hub has read")
            }
            try SnapshotReader.verify(manifest, configuration.map, from: log, until: stop) {
                pace.wait($0)
            }
        } catch {
            guard error.isOfObject else { throw error }
            candidates.removeAll { $0.hash == candidate.hash }
            refused.insert(candidate.hash)
            report(error)
            return [.refused(shard: shard, reason: "\(error)")]
        }
        candidates.removeAll { $0.hash == candidate.hash }
        guard try enter(candidate) else { return [] }
        return [.verified(shard: shard, entry: position.entry)]
    }

    /// Enters a verified manifest, unless a newer one was entered.
    private mutating func enter(_ candidate: Candidate) throws(SnapshotFailure) -> Bool {
        let (manifest, log) = (candidate.manifest, log)
        let shard = Int(manifest.shard)
        return try file.decide { (configuration) throws(SnapshotFailure) in
            guard configuration.replacement == nil, configuration.log == manifest.log else {
                return .refuse
            }
            let newest = configuration.snapshots[shard].newest
            guard newest != candidate.hash else { return .exists }
            if let newest {
                let known = try SnapshotManifest.load(newest, from: log)
                guard known.position.entry < manifest.position.entry else { return .refuse }
            }
            configuration.snapshots[shard] = HubConfiguration.Snapshots(
                newest: candidate.hash, earlier: newest)
            return .store
        }
    }

    private func report(_ error: SnapshotFailure) {
        peer.queries.log?.write(.error, "a snapshot of the hub log cannot be used: \(error)")
    }

    private mutating func manifest(
        _ hash: XXH3.Hash128
    ) throws(SnapshotFailure) -> SnapshotManifest {
        if let known = manifests[hash] { return known }
        let manifest = try SnapshotManifest.load(hash, from: log)
        manifests[hash] = manifest
        return manifest
    }

    // MARK: Trimming

    /// Removes the entries up to that of the earlier snapshot, if no live hub needs them.
    private mutating func trim(
        _ shard: UInt16, _ snapshots: HubConfiguration.Snapshots, _ view: HubView, at now: UInt64
    ) throws(SnapshotFailure) -> Bool {
        guard let earlier = snapshots.earlier else { return false }
        let manifest = try manifest(earlier)
        let entry = manifest.position.entry
        guard entry > trimmed[shard] ?? 0,
            now >= manifest.wallMilliseconds + settings.trimMilliseconds,
            view.shards[Int(shard)].progress.stored > entry,
            view.others.allSatisfy({ $0.shards[shard].map { $0.stored > entry } ?? false })
        else { return false }
        log.trim(HubShard(shard, of: view.log), before: entry + 1)
        trimmed[shard] = entry
        return true
    }
}

extension SnapshotFailure {
    /// Whether the objects of a snapshot are the reason, so that reading them again does not help.
    var isOfObject: Bool {
        switch self {
        case .damaged, .log(.missing), .log(.damaged): true
        default: false
        }
    }
}
