import SheafBytes

extension DirectorySnapshot {
    /// The number of attempts after which a directory that keeps changing is read as it is.
    private static let maximumAttempts = 64
    /// The number of equal attempts after which a contradiction is no race with a writer.
    private static let equalAttempts = 2

    /// Opens the files of the store in `volume`, which a writer may change meanwhile.
    ///
    /// `previous` provides the files that have not changed. A contradiction that another attempt
    /// finds in the same files is not caused by a writer: the files are then taken as they are.
    static func capture(
        _ volume: any Volume, after previous: DirectorySnapshot? = nil,
        holdingFiles: Bool = false
    ) throws(StorageError) -> DirectorySnapshot {
        var last: (mark: SyncedMark?, names: [String])?
        var equal = 0
        var attempts = 0
        while true {
            attempts += 1
            let mark = SyncedMark.current(in: volume)
            let names = try listNames(in: volume)
            let isEqual = last.map { $0.mark == mark && $0.names == names } ?? false
            equal = isEqual ? equal + 1 : 0
            last = (mark, names)
            let isFinal = equal >= equalAttempts || attempts >= maximumAttempts
            do throws(SnapshotAttempt.Contradiction) {
                var attempt = SnapshotAttempt(volume, mark, names, previous)
                attempt.holdsFiles = holdingFiles
                return try attempt.run()
            } catch .failure(let error) {
                throw error
            } catch {
                guard isFinal else { continue }
                // The end of the log is found as after a restart, and compared with the mark.
                do throws(SnapshotAttempt.Contradiction) {
                    var attempt = SnapshotAttempt(volume, nil, names, previous)
                    attempt.contradictedMark = mark
                    attempt.holdsFiles = holdingFiles
                    attempt.acceptsMissingFiles = true
                    return try attempt.run()
                } catch .failure(let error) {
                    throw error
                } catch {
                    preconditionFailure("Without a mark, every set of files is accepted.")
                }
            }
        }
    }

    /// Returns the names of the files in a fixed order.
    private static func listNames(in volume: any Volume) throws(StorageError) -> [String] {
        let names = try translatingErrors { () throws(VolumeError) in try volume.names() }
        try Limits.check(fileCount: names.count)
        return names.sorted()
    }
}
