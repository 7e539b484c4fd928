import SheafBytes
import SheafDocument
import SheafHubLog
import SheafReplication

/// The removal of snapshots and logs that are not used any more.
struct ObjectCleaning {
    private var next: UInt64 = 0
    /// Parts that no manifest names, and when they were found first.
    private var unnamed: [String: UInt64] = [:]

    /// Blocks while it removes what is due; returns the names.
    mutating func step(
        _ configuration: HubConfiguration, _ log: any HubLog, _ settings: HubSettings,
        at now: UInt64
    ) throws(SnapshotFailure) -> [String] {
        guard now >= next else { return [] }
        next = now + settings.cleaningMilliseconds
        do throws(HubLogError) {
            return try clean(configuration, log, settings, at: now)
        } catch {
            throw .log(error)
        }
    }

    private mutating func clean(
        _ configuration: HubConfiguration, _ log: any HubLog, _ settings: HubSettings,
        at now: UInt64
    ) throws(HubLogError) -> [String] {
        // Parts are listed first: those of a manifest that is written later are not in the list.
        let parts = try log.list(HubObjectName.parts)
        let used = Set(
            configuration.snapshots.flatMap { [$0.newest, $0.earlier] }.compactMap { $0 })
        var named: Set<String> = []
        var expired: [(name: String, manifest: SnapshotManifest)] = []
        var usedLogs: Set<HubLogID> = [configuration.log]
        for name in try log.list(HubObjectName.snapshots) {
            guard let hash = HubObjectName.snapshot(named: name),
                let manifest = try? SnapshotManifest.load(hash, from: log)
            else { continue }
            let isOld = now >= manifest.wallMilliseconds + settings.removalMilliseconds
            if isOld, !used.contains(hash) {
                expired.append((name, manifest))
            } else {
                named.formUnion(manifest.parts.map { HubObjectName.part($0.hash) })
                usedLogs.insert(manifest.log)
            }
        }
        var removed: [String] = []
        // A manifest is removed after its parts, so that an interrupted removal is repeated.
        let old = Set(expired.flatMap { $0.manifest.parts.map { HubObjectName.part($0.hash) } })
        unnamed = unnamed.filter { parts.contains($0.key) && !named.contains($0.key) }
        for part in parts where !named.contains(part) {
            let since = unnamed[part] ?? now
            unnamed[part] = since
            guard old.contains(part) || now >= since + settings.removalMilliseconds else {
                continue
            }
            try log.remove(part)
            removed.append(part)
        }
        for id in Set(expired.map { $0.manifest.log }).subtracting(usedLogs) { try log.remove(id) }
        for (name, _) in expired {
            try log.remove(name)
            removed.append(name)
        }
        return removed
    }
}
