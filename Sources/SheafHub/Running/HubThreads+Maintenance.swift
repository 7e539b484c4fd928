import SheafEngine
import SheafHubLog
import SheafReplication
import SheafStatements

/// The maintenance of the log, as the status and the log of the store show it.
extension HubThreads {
    /// Records the result of a step.
    func record(
        _ result: Result<[HubMaintenance.Event], SnapshotFailure>,
        of work: HubMaintenanceThread.Work
    ) {
        switch result {
        case .success(let events):
            let isNew = updateMaintenance { counts in
                for event in events { counts.add(event) }
                guard work == .log else {
                    counts.recordSnapshots()
                    return true
                }
                return counts.recordSuccess(isWaiting: events.contains(where: \.isWaiting))
            }
            // A state is logged when it begins, and not at each step.
            for event in events where isNew || !event.isWaiting { record(event) }
        case .failure(let failure):
            let isNew = updateMaintenance { $0.record(failure, ofSnapshots: work == .snapshots) }
            guard isNew, failure != .stopped else { return }
            storeLog?.write(.error, "the hub log cannot be maintained: \(failure)")
        }
    }

    private func record(_ event: HubMaintenance.Event) {
        switch event {
        case .shared(let log, let count):
            readBeats(of: log)
            storeLog?.write(
                .info, "the hub reads the log", ["log": log.text, "loadedDocuments": "\(count)"])
        case .waits:
            storeLog?.write(.info, "the hub waits while another hub replaces the log")
        case .replaces(let cause):
            storeLog?.write(.warning, "this hub has replaced the log \(cause.sentence)")
        case .snapshot(.refused(let shard, let reason)):
            storeLog?.write(.error, "a snapshot is damaged: \(reason)", ["shard": "\(shard)"])
        case .snapshot(.untrimmed(let shard, let reason)):
            storeLog?.write(.error, "the log cannot be trimmed: \(reason)", ["shard": "\(shard)"])
        case .snapshot(let event):
            storeLog?.write(.debug, "the snapshots of the hub log: \(event)")
        }
    }
}

extension MaintenanceCounts {
    /// Counts an event.
    package mutating func add(_ event: HubMaintenance.Event) {
        switch event {
        case .shared(_, let count): add("loaded_documents", count)
        case .waits: break
        case .replaces: add("replacements")
        case .snapshot(.written): add("written_snapshots")
        case .snapshot(.verified): add("verified_snapshots")
        case .snapshot(.refused): add("refused_snapshots")
        case .snapshot(.trimmed): add("trims")
        case .snapshot(.untrimmed): add("failed_maintenance")
        case .snapshot(.removed): add("removed_objects")
        }
    }
}

extension HubMaintenance.Cause {
    /// The rest of a sentence about the replacement.
    package var sentence: String {
        switch self {
        case .request: "on request"
        case .takeover: "because the hub that had begun to do so has not finished"
        case .incident(let incident): "because \(incident.contradiction)"
        }
    }
}
