import SheafBytes

extension EncodedPuts {
    /// Writes puts to files of a store, if those in memory reach `stagingThreshold`.
    ///
    /// The keys have no operation later than `snapshot`. A store without a disk needs no files.
    @inline(__always)
    package mutating func stageIfNeeded(
        in store: StoreEngine, after snapshot: LogSnapshot
    ) throws(StorageError) {
        let limit = store.volume.isInstant ? .max : store.options.stagingThreshold
        try stage(beyond: limit) {
            StagedRecords(
                in: store.volume, fileLength: store.options.stagedSegmentLength,
                random: store.options.random
            ) { [sync = store.stagedFileSync] in sync.requestSync(of: $0) }
        } previous: {
            snapshot.newestPosition(of: $0)
        }
    }
}

extension LogSnapshot {
    /// Returns the position of the newest operation of a key, which may be its removal.
    fileprivate func newestPosition(of key: UnsafeRawBufferPointer) -> LogPosition {
        if let pointer = recordPointer(of: key) { return pointer.position }
        let removal = Keyspace.withRemovedKey(key) { tree.find($0) }
        return removal.flatMap { RecordPointer($0) }?.position ?? .none
    }
}
