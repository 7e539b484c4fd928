/// Readers that follow the commits of a writer.
extension LogReader {
    /// Returns a reader of the newest durable commit; nil if there is none after this reader's.
    package func newer() throws(StorageError) -> LogReader? {
        let base = directory.base
        let mark = SyncedMark.current(in: base)
        if let mark, mark == directory.mark { return nil }
        let (files, contents) = try Self.read(base, after: directory)
        if mark == nil, files.hasSameFiles(as: directory) { return nil }
        return LogReader(files, contents)
    }

    /// Starts to watch for new commits; nil if the system cannot, or the store has no mark.
    package func watch() -> (any VolumeWatch)? { volume.watch(FileName.syncedName) }
}
