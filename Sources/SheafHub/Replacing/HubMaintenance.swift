import SheafDocument
package import SheafHubLog
package import SheafReplication
package import SheafSystem

/// The work of a hub besides sharing: it follows the configuration, loads and writes snapshots, and
/// replaces a log that contradicts itself.
///
/// Its owner calls `step` on one thread, about every second.
package struct HubMaintenance {
    /// A result of a step.
    package enum Event: Sendable {
        /// The peer shares the log since now; the number of documents loaded before.
        case shared(HubLogID, loadedDocuments: Int)
        /// Another hub replaces the log.
        case waits
        /// This hub begins to replace the log, because of an incident or on request.
        case replaces(ShardIncident?)
        case snapshot(HubSnapshots.Event)
    }

    private let peer: any HubPeer
    private let file: ConfigurationFile
    private let key: [UInt8]
    private let settings: HubSettings
    private let stop: EvaluationStop
    package private(set) var snapshots: HubSnapshots
    private var lastReplacement: UInt64?
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
        snapshots = HubSnapshots(peer, file, settings, until: stop)
    }

    /// Blocks while it does what is due, and returns what was done.
    ///
    /// A failure of the engine is thrown; the next step tries again.
    package mutating func step() throws(SnapshotFailure) -> [Event] {
        let configuration = try file.existing()
        // An older release neither shares a log of newer messages nor replaces it.
        guard configuration.format <= settings.versions.upperBound else { return [] }
        let view = try peer.ask { $0.hubView }
        if let replacement = configuration.replacement {
            let isOwn = replacement.hub == key
            guard isOwn || peer.wallMilliseconds >= replacement.takeoverMilliseconds else {
                if view != nil { try peer.stopSharing(until: stop) }
                return [.waits]
            }
            return try replace(configuration.log, nil)
        }
        guard let view, view.log == configuration.log else { return try share(configuration) }
        if try isTrimmed(view, configuration) { return try share(configuration) }
        if let incident = dueIncident(view) { return try replace(configuration.log, incident) }
        return try snapshots.step(configuration, view).map { .snapshot($0) }
    }

    /// Blocks until the log is replaced, on request; does nothing if another hub does so.
    package mutating func replace() throws(SnapshotFailure) -> [Event] {
        let configuration = try file.existing()
        guard configuration.format <= settings.versions.upperBound else {
            throw .configuration(
                "the hubs write messages of version \(configuration.format), and this program "
                    + "those up to \(settings.versions.upperBound); replace the log with a newer one"
            )
        }
        return try replace(configuration.log, nil)
    }

    private mutating func share(
        _ configuration: HubConfiguration
    ) throws(SnapshotFailure) -> [Event] {
        try peer.stopSharing(until: stop)
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
            if try HubPreparation.isTrimmed(state.progress.read, snapshots, file.log) {
                return true
            }
        }
        return false
    }

    /// Returns an incident that ends only with the log; nil if there is none.
    ///
    /// Meanwhile the hub reads what the log still has.
    private mutating func dueIncident(_ view: HubView) -> ShardIncident? {
        let now = peer.wallMilliseconds
        let found = view.shards.lazy.flatMap(\.incidents).first { $0.kind != .staleEngine }
        incidentSince = found == nil ? nil : incidentSince ?? now
        guard let found, let since = incidentSince, now >= since + settings.incidentMilliseconds
        else { return nil }
        if let last = lastReplacement, now < last + settings.replacementMilliseconds { return nil }
        return found
    }

    private mutating func replace(
        _ old: HubLogID, _ incident: ShardIncident?
    ) throws(SnapshotFailure) -> [Event] {
        lastReplacement = peer.wallMilliseconds
        let replacement = LogReplacement(peer, file, key: key, settings, until: stop)
        switch try replacement.run(old, onReplacementStep) {
        case .left: return [.waits]
        case .replaced(let feed):
            try peer.share(feed)
            return [.replaces(incident), .shared(feed.log, loadedDocuments: 0)]
        }
    }
}
