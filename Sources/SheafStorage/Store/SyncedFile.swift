import Synchronization

/// The file that shows readers in other processes how far the log is durable.
///
/// It is never synced: after a restart of the system, readers need no mark.
final class SyncedFile: Sendable {
    private struct State: Sendable {
        var mark: SyncedMark
        let file: any VolumeFile
    }

    private let state: Mutex<State>

    private init(_ file: any VolumeFile, _ mark: SyncedMark) {
        state = Mutex(State(mark: mark, file: file))
    }

    deinit {
        state.withLock { $0.file }.close()
    }

    /// Writes the mark of a store whose log is durable up to `snapshot`.
    ///
    /// Returns nil if the disk is full; an older mark is then removed. Without a mark, readers sync
    /// the end of the log themselves.
    static func create(
        in volume: any Volume, store: StoreID, _ snapshot: LogSnapshot
    ) throws(VolumeError) -> SyncedFile? {
        // An in-memory volume has no readers in other processes.
        guard !volume.isInstant else { return nil }
        let mark = SyncedMark(
            owner: SyncedMark.Owner(
                store: store, directory: volume.identity, system: volume.systemIdentity),
            position: snapshot.end, commit: snapshot.commit)
        do throws(VolumeError) {
            let file = try open(volume)
            do throws(VolumeError) {
                try write(mark.encoded()[...], at: 0, to: file)
            } catch {
                file.close()
                throw error
            }
            return SyncedFile(file, mark)
        } catch {
            guard error.code.meansFull else { throw error }
            do throws(VolumeError) { try volume.remove(FileName.syncedName) } catch {
                guard error.code == .noSuchFile else { throw error }
            }
            return nil
        }
    }

    /// Opens the file; a new writer continues in the file that readers watch.
    ///
    /// A symbolic link is replaced: no reader follows it, and the mark is written anew.
    private static func open(_ volume: any Volume) throws(VolumeError) -> any VolumeFile {
        let name = FileName.syncedName
        do throws(VolumeError) {
            return try volume.open(name, .write)
        } catch {
            guard [.noSuchFile, .symbolicLink].contains(error.code) else { throw error }
        }
        do throws(VolumeError) {
            return try volume.open(name, .create)
        } catch {
            guard error.code == .exists else { throw error }
        }
        try volume.remove(name)
        return try volume.open(name, .create)
    }

    /// Records that the log is durable up to the end of `commit`.
    func advance(to position: LogPosition, commit: CommitID) {
        update { mark in
            mark.position = position
            mark.commit = commit
        }
    }

    /// Records that a base file has replaced others.
    func recordReplacement() {
        update { $0.replacements += 1 }
    }

    /// Changes the mark and writes the changed part.
    ///
    /// A failed write is no error of the commit, which is durable: readers stay at the old mark.
    private func update(_ change: (inout SyncedMark) -> Void) {
        state.withLock { state in
            change(&state.mark)
            let start = SyncedMark.stateOffset
            _ = try? Self.write(state.mark.encoded()[start...], at: start, to: state.file)
        }
    }

    private static func write(
        _ bytes: ArraySlice<UInt8>, at offset: Int, to file: any VolumeFile
    ) throws(VolumeError) {
        try bytes.span.withUnsafeBytes { bytes throws(VolumeError) in
            try file.writeFully(bytes, at: offset)
        }
    }
}
