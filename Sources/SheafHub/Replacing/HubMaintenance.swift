import SheafDocument
import SheafEngine
package import SheafHubLog
package import SheafReplication
import SheafStatements
package import SheafSystem

/// The log that a hub shares: it follows the configuration, loads snapshots, and replaces a log
/// that contradicts itself.
///
/// Its owner calls `step` on one thread, about every second.
package struct HubMaintenance {
    /// The reason why a hub replaces a log.
    package enum Cause: Sendable {
        case request
        /// Another hub, or an earlier run of this one, has not finished.
        case takeover
        case incident(ShardIncident)
    }

    /// A result of a step.
    package enum Event: Sendable {
        /// The peer shares the log from now on; with the number of documents loaded before.
        case shared(HubLogID, loadedDocuments: Int)
        /// Another hub replaces the log.
        case waits
        /// This hub has replaced the log.
        case replaces(Cause)
        case snapshot(HubSnapshots.Event)

        /// Whether the event is `waits`.
        package var isWaiting: Bool { if case .waits = self { true } else { false } }
    }

    private let peer: any HubPeer
    private let file: ConfigurationFile
    private let key: [UInt8]
    private let settings: HubSettings
    private let stop: EvaluationStop
    /// The configuration with the highest number of a log.
    private var last: HubConfiguration?
    private var completeness = LogCompleteness()
    private var lastReplacement: UInt64?
    /// The time until which this hub leaves its unfinished replacement to others.
    private var releasedUntil: UInt64 = 0
    /// When an incident was found first; nil while there is none.
    private var incidentSince: UInt64?
    /// Called after each step of a replacement, by tests.
    package var onReplacementStep: (LogReplacement.Step) throws(SnapshotFailure) -> Void = { _ in }

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

    /// Blocks while it does what is due, and returns what was done.
    ///
    /// A failure of the engine is thrown; the next step tries again.
    package mutating func step() throws(SnapshotFailure) -> [Event] {
        guard let configuration = try current() else { return [] }
        let view = try peer.ask { $0.hubView }
        if let view { completeness.record(view, at: peer.wallMilliseconds) }
        if let replacement = configuration.replacement {
            guard try mayTakeOver(replacement, configuration) else {
                if view != nil { try peer.stopSharing(until: stop) }
                return [.waits]
            }
            return try replace(configuration.log, .takeover)
        }
        guard let view, view.log == configuration.log else { return try share(configuration) }
        if try isTrimmed(view, configuration) { return try share(configuration) }
        guard let incident = dueIncident(view) else { return [] }
        return try replace(configuration.log, .incident(incident))
    }

    /// Blocks until the log is replaced, on request; does nothing if another hub does so.
    ///
    /// The new log begins with the documents of this hub, so it must have those of the old one.
    ///
    /// - Parameter isForced: Whether the hub need not have read the log, and takes over from a hub
    ///   that has time left.
    package mutating func replace(isForced: Bool) throws(SnapshotFailure) -> [Event] {
        if isForced, let last { try file.restore(last) }
        guard let configuration = try current(isForced: isForced) else {
            throw .configuration(
                "the hubs write messages of a version above \(settings.versions.upperBound), "
                    + "the newest of this program; replace the log with a newer one")
        }
        if let view = try peer.ask({ $0.hubView }) {
            completeness.record(view, at: peer.wallMilliseconds)
        }
        guard !isForced else {
            completeness.force(configuration.log)
            return try replace(configuration.log, .request, isForced: true)
        }
        if let replacement = configuration.replacement, replacement.hub != key,
            peer.wallMilliseconds < replacement.takeoverMilliseconds
        {
            return [.waits]
        }
        guard completeness.isComplete(configuration.log) else {
            throw .configuration(
                "this hub has not read the log to its end, so the new log would begin without "
                    + "documents that other hubs have; replace it at a hub that is ready, or, if "
                    + "none can be, with --force at the one that has most documents")
        }
        return try replace(configuration.log, .request)
    }

    /// Returns the configuration; nil if it is that of a newer release, which older ones neither
    /// share nor replace.
    private mutating func current(
        isForced: Bool = false
    ) throws(SnapshotFailure) -> HubConfiguration? {
        let configuration = try file.existing()
        if let last, configuration.number < last.number, !isForced {
            throw .configuration(
                "the configuration names log \(configuration.number), and has named log "
                    + "\(last.number) before: the engine has an older one, from a backup or of a "
                    + "server that lags; this hub keeps its log until the engine has the newer "
                    + "one, or 'sheaf hub replace --force' is run")
        }
        if configuration.number >= last?.number ?? 0 { last = configuration }
        return configuration.format <= settings.versions.upperBound ? configuration : nil
    }

    private mutating func share(
        _ configuration: HubConfiguration
    ) throws(SnapshotFailure) -> [Event] {
        try peer.stopSharing(until: stop)
        // A log that lacks shards, or can lose messages, is not shared; it can be replaced.
        do throws(HubLogError) {
            try file.log.check(configuration.log, shardCount: configuration.map.shardCount)
        } catch {
            throw .log(error)
        }
        var count = 0
        let feed = try HubPreparation(peer, file.log, settings, until: stop)
            .prepare(configuration) { count += $0 }
        try peer.share(feed)
        return [.shared(configuration.log, loadedDocuments: count)]
    }

    /// Whether the log has removed entries that this hub has not read.
    private func isTrimmed(
        _ view: HubView, _ configuration: HubConfiguration
    ) throws(SnapshotFailure) -> Bool {
        for (shard, state) in view.shards.enumerated()
        where state.lacksEntries || !state.incidents.isEmpty {
            let snapshots = configuration.snapshots[shard]
            do throws(SnapshotFailure) {
                if try HubPreparation.isTrimmed(state.progress.read, snapshots, file.log) {
                    return true
                }
            } catch {
                // Without the snapshot, the hub has more than it could load.
                guard error.isOfObject else { throw error }
            }
        }
        return false
    }

    // MARK: Replacing

    /// Returns an incident that ends only with the log; nil if there is none.
    ///
    /// Meanwhile the hub reads what the log still has. A hub that has stored more goes first.
    private mutating func dueIncident(_ view: HubView) -> ShardIncident? {
        let now = peer.wallMilliseconds
        let found = view.shards.lazy.flatMap(\.incidents).first { $0.kind != .staleEngine }
        incidentSince = found == nil ? nil : incidentSince ?? now
        guard let found, let since = incidentSince else { return nil }
        let wait = settings.incidentMilliseconds * (view.hasMostStored ? 1 : 2)
        guard now.hasPassed(wait, since: since) else { return nil }
        if let last = lastReplacement, !now.hasPassed(settings.replacementMilliseconds, since: last)
        {
            return nil
        }
        let isComplete = completeness.isComplete(view.log)
        guard isComplete || completeness.isAtEnd(found, view, settings, at: now) else { return nil }
        return found
    }

    /// Whether this hub may take over an unfinished replacement.
    private func mayTakeOver(
        _ replacement: HubConfiguration.Replacement, _ configuration: HubConfiguration
    ) throws(SnapshotFailure) -> Bool {
        let now = peer.wallMilliseconds
        let isOwn = replacement.hub == key
        guard now >= (isOwn ? releasedUntil : replacement.takeoverMilliseconds) else {
            return false
        }
        if completeness.isComplete(configuration.log) { return true }
        // A hub that was started since takes over later, and only if its store was one of the log.
        let delay = settings.replacementMilliseconds
        guard isOwn || now.hasPassed(delay, since: replacement.takeoverMilliseconds) else {
            return false
        }
        return try hasStored(configuration)
    }

    /// Whether the store has the entries of the log up to some entry of each shard.
    private func hasStored(_ configuration: HubConfiguration) throws(SnapshotFailure) -> Bool {
        do throws(EngineError) {
            let snapshot = peer.queries.documents.snapshot()
            for shard in 0..<UInt16(clamping: configuration.map.shardCount) {
                guard let known = try snapshot.storedShard(shard), known.log == configuration.log,
                    known.wallMilliseconds > 0
                else { return false }
            }
            return true
        } catch {
            throw .store(error)
        }
    }

    private mutating func replace(
        _ old: HubLogID, _ cause: Cause, isForced: Bool = false
    ) throws(SnapshotFailure) -> [Event] {
        lastReplacement = peer.wallMilliseconds
        let replacement = LogReplacement(peer, file, key: key, settings, until: stop)
        do throws(SnapshotFailure) {
            let number = (last?.number ?? 0) + 1
            switch try replacement.run(
                old, number: number, isForced: isForced, onReplacementStep)
            {
            case .left: return [.waits]
            case .replaced(let feed):
                try peer.share(feed)
                return [.replaces(cause), .shared(feed.log, loadedDocuments: 0)]
            }
        } catch {
            if error.isOfHub {
                releasedUntil = peer.wallMilliseconds + settings.replacementMilliseconds
                // If this fails, another hub begins after the takeover time.
                try? replacement.release(old)
            }
            throw error
        }
    }
}

extension SnapshotFailure {
    /// Whether the failure is one of this hub alone, so that another hub may succeed.
    fileprivate var isOfHub: Bool {
        switch self {
        case .store, .file, .tooLarge, .clock: true
        case .log, .damaged, .configuration, .stopped: false
        }
    }
}
