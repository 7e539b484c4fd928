import SheafHubLog
import SheafReplication
package import SheafTransport

extension HubProgress {
    /// Whether all shards have caught up.
    var hasCaughtUp: Bool { shards.allSatisfy(\.hasCaughtUp) }
}

extension HubStatus {
    /// Creates the status that follows from a sample.
    package init(
        _ sample: HubSample, of key: PeerKey, formats: ClosedRange<UInt8>, at now: UInt64
    ) {
        let readiness = Readiness(sample: sample, formats: formats, now: now)
        let progress = sample.progress
        self.key = key
        reasons = readiness.reasons
        isDraining = sample.isDraining
        isLive = readiness.isLive
        log = sample.configuration.log.text
        logNumber = sample.configuration.number
        format = Int(sample.configuration.format)
        self.formats = Int(formats.lowerBound)...Int(formats.upperBound)
        commit = progress?.commit ?? 0
        hubDurableCommit = progress?.hubDurable ?? 0
        lagMilliseconds = sample.lag.nanoseconds(at: now) / 1_000_000
        clientCount = progress?.clientCount ?? 0
        unacknowledgedCount = progress?.unacknowledgedCount ?? 0
        pendingBytes = progress?.pendingLength ?? 0
        heldMilliseconds = progress?.heldNanoseconds.map { $0 / 1_000_000 }
        shards = progress?.shards.map(Shard.init) ?? []
        let live = Set(sample.hubs.live(at: now).map { $0.key })
        hubs = sample.hubs.all.map { key, hub in
            OtherHub(hub, PeerKey(unchecked: key), isLive: live.contains(key), at: now)
        }
        unstoredFileCount = sample.files.unstoredCount
        fileFailure = sample.files.failure
        counts = Self.counts(sample)
    }

    private static func counts(_ sample: HubSample) -> [String: UInt64] {
        let traffic = sample.traffic
        var counts = [
            "appended_messages": traffic.appendedCount, "appended_bytes": traffic.appendedLength,
            "read_entries": traffic.readCount, "read_bytes": traffic.readLength,
            "failed_appends": traffic.failedCount,
        ]
        counts.merge(sample.maintenance.counts) { $1 }
        for (name, count) in sample.progress?.faults ?? [:] { counts["fault_" + name] = count }
        return counts
    }
}

extension HubStatus.Shard {
    fileprivate init(_ shard: HubProgress.Shard) {
        number = Int(shard.number)
        readEntry = shard.progress.read
        storedEntry = shard.progress.stored
        hasCaughtUp = shard.hasCaughtUp
        unstoredMessages = shard.unstoredMessages
        unstoredBytes = shard.unstoredLength
        incidents = shard.incidents.map(\.sentence)
    }
}

extension HubStatus.OtherHub {
    fileprivate init(_ hub: OtherHubs.Known, _ key: PeerKey, isLive: Bool, at now: UInt64) {
        self.key = key
        self.isLive = isLive
        isReady = hub.beat.isReady
        isDraining = hub.beat.isDraining
        clientCount = Int(clamping: hub.beat.clientCount)
        formats = Int(hub.beat.versions.lowerBound)...Int(hub.beat.versions.upperBound)
        clockDifferenceMilliseconds = hub.clockDifference
        silentMilliseconds = (now - min(now, hub.receivedAt)) / 1_000_000
    }
}
