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
            let mark = currentMark(in: volume)
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
                // Without the mark, the end of the log is found as after a restart.
                do throws(SnapshotAttempt.Contradiction) {
                    var attempt = SnapshotAttempt(volume, nil, names, previous)
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
        guard names.count <= Limits.maximumFiles else {
            throw .limit(name: "maximumFiles", value: names.count, limit: Limits.maximumFiles)
        }
        return names.sorted()
    }

    /// Reads the mark of the running system; nil if there is none.
    static func currentMark(in volume: any Volume) -> SyncedMark? {
        guard let file = try? volume.open(FileName.syncedName, .read) else { return nil }
        defer { file.close() }
        return currentMark(in: file, of: volume)
    }

    /// Reads the mark of the running system from its open file.
    static func currentMark(in file: any VolumeFile, of volume: any Volume) -> SyncedMark? {
        withUnsafeTemporaryAllocation(byteCount: SyncedMark.length, alignment: 8) { buffer in
            // A read that overlaps a write may return a mixture, which the checksum reveals.
            for _ in 0..<maximumAttempts {
                do throws(VolumeError) { try file.readFully(into: buffer, at: 0) } catch {
                    return nil
                }
                if let mark = SyncedMark(decoding: UnsafeRawBufferPointer(buffer)) {
                    return mark.isCurrent(in: volume) ? mark : nil
                }
            }
            return nil
        }
    }
}
