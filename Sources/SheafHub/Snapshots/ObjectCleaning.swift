import SheafBytes
import SheafDocument
import SheafHubLog
package import SheafReplication

/// The removal of snapshots and logs that are not used any more.
///
/// An object is removed in a later pass than the one that has found it, and after the manifest
/// that names it. So a snapshot that was written meanwhile, and shares parts with an older one, is
/// found in between.
package struct ObjectCleaning {
    /// Number of parts that are removed before the manifests are listed again.
    private static let batchLength = 64

    private var next: UInt64 = 0
    /// Objects that nothing needs, and when they were found first.
    private var unneeded: [String: UInt64] = [:]

    package init() {}

    /// Blocks while it removes what is due; returns the names.
    package mutating func step(
        _ file: ConfigurationFile, _ settings: HubSettings, at now: UInt64
    ) throws(SnapshotFailure) -> [String] {
        guard now >= next else { return [] }
        next = now + settings.cleaningMilliseconds
        let configuration = try file.existing()
        // A log that is being created is in no configuration.
        guard configuration.replacement == nil else { return [] }
        var pass = CleaningPass(file.log, configuration, settings, at: now)
        // Parts are listed first: those of a manifest that is written later are not in the list.
        let parts = try pass.list(HubObjectName.parts)
        let manifests = try pass.list(HubObjectName.snapshots)
        var found: [String: UInt64] = [:]
        for name in manifests {
            guard let hash = HubObjectName.snapshot(named: name),
                try !pass.isNeeded(hash, name)
            else { continue }
            found[name] = unneeded[name] ?? now
            guard let since = unneeded[name],
                now.hasPassed(settings.supersededMilliseconds, since: since)
            else { continue }
            try pass.remove(name)
        }
        let unnamed = parts.filter { !pass.named.contains($0) }
        for name in unnamed { found[name] = unneeded[name] ?? now }
        let due = unnamed.filter { unneeded[$0] != nil }
        unneeded = found
        try remove(due, manifests, file, &pass)
        try pass.removeLogs()
        return pass.removed
    }

    /// Removes parts, until another manifest appears.
    private func remove(
        _ parts: [String], _ manifests: [String], _ file: ConfigurationFile,
        _ pass: inout CleaningPass
    ) throws(SnapshotFailure) {
        var rest = parts[...]
        while !rest.isEmpty {
            guard try file.existing().replacement == nil,
                try pass.list(HubObjectName.snapshots).allSatisfy({ manifests.contains($0) })
            else { return }
            for part in rest.prefix(Self.batchLength) { try pass.remove(part) }
            rest = rest.dropFirst(Self.batchLength)
        }
    }
}

/// One pass over the objects of a database.
private struct CleaningPass {
    private let log: any HubStorage
    private let configuration: HubConfiguration
    private let settings: HubSettings
    private let now: UInt64
    private let used: Set<XXH3.Hash128>
    /// The logs of manifests, without that of the configuration.
    private var otherLogs: Set<HubLogID> = []
    /// The times at which hubs have found that logs were replaced.
    private var ends: [HubLogID: UInt64] = [:]
    /// The parts of all manifests.
    private(set) var named: Set<String> = []
    private(set) var removed: [String] = []

    init(
        _ log: any HubStorage, _ configuration: HubConfiguration, _ settings: HubSettings,
        at now: UInt64
    ) {
        (self.log, self.configuration, self.settings, self.now) = (
            log, configuration, settings, now
        )
        used = Set(configuration.snapshots.flatMap { [$0.newest, $0.earlier] }.compactMap { $0 })
    }

    func list(_ prefix: String) throws(SnapshotFailure) -> [String] {
        do throws(HubLogError) { return try log.list(prefix) } catch { throw .log(error) }
    }

    mutating func remove(_ name: String) throws(SnapshotFailure) {
        do throws(HubLogError) { try log.remove(name) } catch { throw .log(error) }
        removed.append(name)
    }

    // MARK: Manifests

    /// Whether a manifest is needed; keeps the names of its parts.
    ///
    /// Throws if one that the configuration names cannot be read, since its parts are not known.
    mutating func isNeeded(
        _ hash: XXH3.Hash128, _ name: String
    ) throws(SnapshotFailure) -> Bool {
        let isUsed = used.contains(hash)
        let manifest: SnapshotManifest
        do throws(SnapshotFailure) { manifest = try SnapshotManifest.load(hash, from: log) } catch {
            guard error.isOfObject, !isUsed else { throw error }
            return false
        }
        named.formUnion(manifest.parts.map { HubObjectName.part($0.hash) })
        if isUsed { return true }
        guard manifest.log == configuration.log else {
            otherLogs.insert(manifest.log)
            return try !hasEnded(manifest.log)
        }
        guard Int(manifest.shard) < configuration.snapshots.count,
            let newest = configuration.snapshots[Int(manifest.shard)].newest
        else { return true }
        // A hub may verify it.
        let known = try SnapshotManifest.loadUsable(newest, from: log)
        return manifest.position.entry > known?.position.entry ?? 0
            && !now.hasPassed(settings.unverifiedMilliseconds, since: manifest.wallMilliseconds)
    }

    // MARK: Logs

    /// Whether a log is due to be removed, by the time at which a hub has found first that it was
    /// replaced.
    ///
    /// The time is an object, so that it does not depend on one hub.
    private mutating func hasEnded(_ id: HubLogID) throws(SnapshotFailure) -> Bool {
        let end: UInt64
        if let known = ends[id] {
            end = known
        } else {
            end = try readEnd(of: id)
            ends[id] = end
        }
        return now.hasPassed(settings.removalMilliseconds, since: end)
    }

    private func readEnd(of id: HubLogID) throws(SnapshotFailure) -> UInt64 {
        let name = HubObjectName.end(of: id)
        let time = now
        do throws(HubLogError) {
            // An existing object remains.
            try log.put(name, (0..<8).map { UInt8(truncatingIfNeeded: time >> ($0 * 8)) })
            let bytes = try log.object(name, limit: 8)
            return bytes.reversed().reduce(0) { $0 << 8 | UInt64($1) }
        } catch {
            throw .log(error)
        }
    }

    /// Removes the logs that were replaced long ago.
    mutating func removeLogs() throws(SnapshotFailure) {
        let logs: [HubLogID]
        do throws(HubLogError) { logs = try log.logs() } catch { throw .log(error) }
        var rest = otherLogs
        for id in logs where id != configuration.log {
            guard try hasEnded(id) else {
                rest.insert(id)
                continue
            }
            do throws(HubLogError) { try log.remove(id) } catch { throw .log(error) }
        }
        // A hub may have found a log before the configuration named it.
        for name in try list(HubObjectName.ends) {
            guard let id = HubObjectName.end(named: name), !rest.contains(id) else { continue }
            try remove(name)
        }
    }
}
