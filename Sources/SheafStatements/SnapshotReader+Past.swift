package import SheafDocument
import SheafEngine
package import SheafQuery
import SheafStorage

/// Earlier states.
extension SnapshotReader {
    package var commit: UInt64 { snapshot.log.commit }

    package func past(_ point: PastPoint) throws(StoreError) -> any QueryStore {
        let commit = try commit(at: point)
        guard commit != self.commit || hasPending else { return self }
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
                throw try Self.forgotten(point, oldest, log)
            }
            return commit
        case .time(let time):
            let found: CommitID?
            do throws(StorageError) {
                found =
                    if let pastStates {
                        try pastStates.commit(at: time, in: log)
                    } else {
                        try log.commit(at: time)
                    }
            } catch {
                throw StoreError(error)
            }
            if let found, found >= oldest { return found }
            throw try Self.forgotten(point, oldest, log)
        }
    }

    /// Returns the error for a state that compaction has removed.
    private static func forgotten(
        _ point: PastPoint, _ oldest: CommitID, _ log: LogSnapshot
    ) throws(StoreError) -> StoreError {
        let time: UInt64?
        do throws(StorageError) { time = try log.time(of: oldest) } catch {
            throw StoreError(error)
        }
        return StoreError(
            .argument,
            "the log does not have the state of \(point) any more: it reaches back to commit "
                + "\(oldest)" + (time.map { ", of \(PastPoint.time($0))" } ?? ""),
            hint: "compaction keeps more states in a store that is opened with a greater "
                + "StoreOptions.history, or compacted by 'sheaf compact --keep-commits N'",
            page: "asof")
    }
}
