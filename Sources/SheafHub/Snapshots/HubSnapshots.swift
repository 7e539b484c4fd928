import SheafBytes
import SheafDocument
import SheafEngine
import SheafHubLog
package import SheafReplication
import SheafStatements
package import SheafSystem

/// The snapshots of the shards of a log: when one is written, verified and used to trim.
///
/// Several hubs do this concurrently, in any order: a snapshot is written once, under the hash of
/// its bytes, and enters the configuration by compare-and-swap after it was verified. It takes as
/// long as the documents are, so its owner calls `step` on a thread of its own.
package struct HubSnapshots {
    /// A change to the snapshots or to the log.
    package enum Event: Equatable, Sendable {
        case written(shard: UInt16, entry: UInt64)
        case verified(shard: UInt16, entry: UInt64)
        case refused(shard: UInt16, reason: String)
        /// A shard could not be trimmed; it is tried again.
        case untrimmed(shard: UInt16, reason: String)
        case trimmed(shard: UInt16, before: UInt64)
        case removed(String)
    }

    private let peer: any HubPeer
    private let file: ConfigurationFile
    private var log: any HubStorage { file.log }
    private let settings: HubSettings
    private let stop: EvaluationStop
    private let pace: RateLimit
    /// Manifests by the hashes in their names.
    private var manifests: [XXH3.Hash128: SnapshotManifest] = [:]
    /// Manifests that this hub has found to be damaged.
    private var refused: Set<XXH3.Hash128> = []
    private var candidates: [Candidate] = []
    private var nextList: UInt64 = 0
    private var trimmed: [UInt16: UInt64] = [:]
    /// The times of the next attempts after failures to trim.
    private var nextTrims: [UInt16: UInt64] = [:]
    /// The newest snapshot of each shard, and what was read of the shard when it was found.
    private var bases: [UInt16: (hash: XXH3.Hash128?, readLength: UInt64, since: UInt64)] = [:]
    /// When this hub last began a snapshot of each shard.
    private var written: [UInt16: UInt64] = [:]
    private var cleaning = ObjectCleaning()

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
        pace = RateLimit(bytesPerSecond: settings.bytesPerSecond, until: stop)
    }

    /// Blocks while it does what is due, and returns what was done.
    package mutating func step() throws(SnapshotFailure) -> [Event] {
        let configuration = try file.existing()
        guard configuration.format <= settings.versions.upperBound,
            let view = try peer.ask({ $0.hubView }), configuration.replacement == nil,
            configuration.log == view.log, view.isSettled, view.hasCaughtUp
        else { return [] }
        let now = peer.wallMilliseconds
        if now >= nextList {
            nextList = now + settings.listMilliseconds
            try findCandidates(configuration)
        }
        var events: [Event] = []
        for shard in 0..<UInt16(clamping: view.shards.count) {
            guard view.shards[Int(shard)].incidents.isEmpty else { continue }
            do throws(SnapshotFailure) {
                events += try step(shard, configuration, view, at: now)
            } catch {
                // Other shards do not need the objects of this one.
                guard error.isOfObject else { throw error }
                events.append(.refused(shard: shard, reason: "\(error)"))
            }
        }
        if view.isChosen {
            do throws(SnapshotFailure) {
                events += try cleaning.step(file, settings, at: now).map { .removed($0) }
            } catch {
                // The next snapshot replaces it, and then the others are removed.
                guard error.isOfObject else { throw error }
                report(error)
            }
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
            !now.hasPassed(
                settings.verificationMilliseconds(of: candidate.manifest),
                since: candidate.manifest.wallMilliseconds)
        {
            if isVerifier(of: candidate.manifest, view) {
                events += try verify(candidate, configuration, view)
            }
        } else if view.isChosen(for: shard), try isDue(shard, snapshots, view, at: now) {
            events += try write(shard, at: now)
        }
        guard view.isChosen(for: shard) else { return events }
        do throws(SnapshotFailure) {
            if try trim(shard, snapshots, view, at: now) {
                events.append(.trimmed(shard: shard, before: (trimmed[shard] ?? 0) + 1))
            }
        } catch {
            // Other shards are trimmed, and have snapshots, all the same.
            guard !error.isOfObject, error != .stopped else { throw error }
            nextTrims[shard] = now + Self.failedTrimMilliseconds
            events.append(.untrimmed(shard: shard, reason: "\(error)"))
        }
        return events
    }

    // MARK: Writing

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
        guard settings.allowsSnapshot(after: written[shard], at: now) else { return false }
        // One that cannot be read counts as none, so that another one replaces it.
        let newest = try usable(snapshots.newest)
        let state = view.shards[Int(shard)]
        guard state.progress.stored > newest?.position.entry ?? 0,
            settings.allowsSnapshot(after: newest?.wallMilliseconds, at: now)
        else { return false }
        return settings.needsSnapshot(
            readLength: state.readLength - min(base.readLength, state.readLength),
            after: newest?.length ?? 0, since: newest?.wallMilliseconds ?? base.since, at: now)
    }

    /// Writes a snapshot, which another hub verifies.
    package mutating func write(
        _ shard: UInt16, at now: UInt64
    ) throws(SnapshotFailure) -> [Event] {
        // The position is taken with the snapshot of the store, which has all documents up to it.
        guard let source = try peer.ask({ $0.hubSource(of: shard) }) else { return [] }
        var writer = SnapshotWriter(
            source, peer.queries, to: log, partLength: settings.partLength, until: stop)
        written[shard] = now
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
                let known = try usable(configuration.snapshots[Int(manifest.shard)].newest)
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

    /// Whether this hub has the least key of the live hubs that follow the shard, and have not
    /// written the snapshot.
    private func isVerifier(of manifest: SnapshotManifest, _ view: HubView) -> Bool {
        let (shard, site) = (manifest.shard, manifest.author.site)
        // A hub that was opened again is not another one.
        guard site == view.author.site else { return view.isChosen(for: shard, without: site) }
        return view.followers(of: shard, without: site).isEmpty
    }

    private mutating func verify(
        _ candidate: Candidate, _ configuration: HubConfiguration, _ view: HubView
    ) throws(SnapshotFailure) -> [Event] {
        let manifest = candidate.manifest
        let (shard, position) = (manifest.shard, manifest.position)
        // A reader before the entry cannot compare the digest.
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
            removeRefused(candidate.hash, error)
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
            let known = try newest.flatMap { (hash) throws(SnapshotFailure) in
                try SnapshotManifest.loadUsable(hash, from: log)
            }
            if let known, known.position.entry >= manifest.position.entry { return .refuse }
            // An unreadable newest snapshot does not replace the earlier one.
            let earlier = known == nil ? configuration.snapshots[shard].earlier : newest
            configuration.snapshots[shard] = HubConfiguration.Snapshots(
                newest: candidate.hash, earlier: earlier)
            return .store
        }
    }

    /// Removes a manifest for which no hub must wait, and a damaged part, so that the next snapshot
    /// with the same documents stores it again: `put` keeps an object that exists.
    private func removeRefused(_ hash: XXH3.Hash128, _ error: SnapshotFailure) {
        var names = [HubObjectName.snapshot(hash)]
        switch error {
        case .damaged(let object, _), .log(.damaged(let object)):
            if HubObjectName.part(named: object) != nil { names.append(object) }
        default: break
        }
        do throws(HubLogError) {
            for name in names { try log.remove(name) }
        } catch {
            peer.queries.log?.write(.warning, "a damaged object cannot be removed: \(error)")
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

    /// Returns a manifest; nil if there is none, or if it cannot be read now or later.
    private mutating func usable(
        _ hash: XXH3.Hash128?
    ) throws(SnapshotFailure) -> SnapshotManifest? {
        guard let hash else { return nil }
        do throws(SnapshotFailure) { return try manifest(hash) } catch {
            guard error.isOfObject else { throw error }
            return nil
        }
    }

    // MARK: Trimming

    /// Time after which a failed attempt to trim is repeated.
    package static let failedTrimMilliseconds: UInt64 = 60_000

    /// Removes the entries up to that of the earlier snapshot, if no live hub needs them.
    private mutating func trim(
        _ shard: UInt16, _ snapshots: HubConfiguration.Snapshots, _ view: HubView, at now: UInt64
    ) throws(SnapshotFailure) -> Bool {
        guard let manifest = try usable(snapshots.earlier) else { return false }
        let entry = manifest.position.entry
        guard entry > trimmed[shard] ?? 0, now >= nextTrims[shard] ?? 0,
            now.hasPassed(settings.trimMilliseconds, since: manifest.wallMilliseconds),
            view.shards[Int(shard)].progress.stored > entry,
            view.others.allSatisfy({ $0.shards[shard].map { $0.stored > entry } ?? false })
        else { return false }
        do throws(HubLogError) {
            while try log.trim(HubShard(shard, of: view.log), before: entry + 1) {
                guard !stop.isSet else { return false }
            }
        } catch {
            throw .log(error)
        }
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
