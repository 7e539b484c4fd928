import SheafEngine
import SheafReplication
import SheafStatements

/// The files of a hub, as the status and the log of the store show them.
extension HubThreads {
    /// Records the result of a step.
    func record(_ files: HubFiles, _ result: Result<[HubFiles.Event], SnapshotFailure>) {
        var sample = HubSample.Files(
            unstoredCount: files.unstoredCount, localCount: files.localCount,
            commit: files.scanned, failure: files.failure.map { "\($0)" })
        switch result {
        case .success(let events):
            _ = updateFiles(sample)
            for event in events { record(event) }
        case .failure(let failure):
            guard failure != .stopped else { return }
            sample.failure = "\(failure)"
            updateMaintenance { $0.add("failed_files") }
            guard updateFiles(sample).failure != sample.failure else { return }
            storeLog?.write(.error, "attachments cannot be stored in the object store: \(failure)")
        }
    }

    private func record(_ event: HubFiles.Event) {
        switch event {
        case .put(let id):
            updateMaintenance { $0.add("stored_files") }
            storeLog?.write(.debug, "an attachment was put into the object store", ["id": "\(id)"])
        case .loaded(let id):
            updateMaintenance { $0.add("loaded_files") }
            storeLog?.write(.debug, "an attachment was read from the object store", ["id": "\(id)"])
        case .removed(let id):
            updateMaintenance { $0.add("removed_files") }
            storeLog?.write(.info, "an unused attachment was removed", ["id": "\(id)"])
        case .failed(let id, let failure):
            updateMaintenance { $0.add("failed_files") }
            storeLog?.write(
                .error,
                "an attachment cannot be put into or read from the object store: \(failure)",
                ["id": "\(id)"])
        }
    }
}
