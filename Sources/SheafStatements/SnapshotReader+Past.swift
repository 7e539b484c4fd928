package import SheafDocument
import SheafEngine
package import SheafQuery
import SheafStorage

/// Earlier states.
extension SnapshotReader {
    package var commit: UInt64 { snapshot.log.commit }

    package func past(_ point: PastPoint) throws(StoreError) -> any QueryStore {
        let commit = try commit(at: point)
        guard commit != self.commit || !pending.isEmpty else { return self }
        do throws(EngineError) {
            let past =
                if let pastStates {
                    try pastStates.state(asOf: commit, from: snapshot)
                } else {
                    try snapshot.past(commit)
                }
            let reader = SnapshotReader(
                past, virtual: virtual, pastStates: pastStates, storeNumber: storeNumber)
            reader.interruption = interruption
            return reader
        } catch {
            throw StoreError(error)
        }
    }

    /// Returns the commit of an earlier state; throws if the log does not have that state.
    private func commit(at point: PastPoint) throws(StoreError) -> CommitID {
        let (log, oldest) = (snapshot.log, snapshot.log.compactedThrough)
        switch point {
        case .commit(let commit):
            guard commit <= log.commit else {
                throw StoreError(
                    .argument, "there is no commit \(commit): the last one is \(log.commit)",
                    page: "asof")
            }
            guard commit >= oldest else {
                throw Self.forgotten(point, oldest, nil)
            }
            return commit
        case .time(let time):
            let found: CommitID?
            do throws(StorageError) { found = try log.commit(at: time) } catch {
                throw StoreError(error)
            }
            if let found, found >= oldest { return found }
            throw Self.forgotten(point, oldest, log.lastCompactedTime)
        }
    }

    /// Returns the error for a state that compaction has removed.
    private static func forgotten(
        _ point: PastPoint, _ oldest: CommitID, _ time: UInt64?
    ) -> StoreError {
        StoreError(
            .argument,
            "the log does not have the state of \(point) any more: it reaches back to commit "
                + "\(oldest)" + (time.map { ", of \(PastPoint.time($0))" } ?? ""),
            hint: "StoreOptions.history keeps more states", page: "asof")
    }
}
