/// Offline compaction of a store.
package enum StoreCompaction {
    /// Compacts all files before the history horizon of `options` and writes a checkpoint.
    ///
    /// Calls `begin` once the store is open; no other process writes to it from then on.
    package static func run(
        at path: String, options: LogStoreOptions, onceOpen begin: () -> Void
    ) throws(StorageError) {
        let engine = try StoreEngine.open(existing: path, options: options)
        begin()
        try run(engine)
    }

    private static func run(_ engine: StoreEngine) throws(StorageError) {
        do throws(StorageError) {
            engine.compactEverything()
            while try engine.compactionStep() {}
            try engine.writeCheckpoint()
        } catch {
            try? engine.close()
            throw error
        }
        try engine.close()
    }
}
