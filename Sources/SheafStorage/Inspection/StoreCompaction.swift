/// Offline compaction of a store.
package enum StoreCompaction {
    /// Compacts all files before the history horizon of `options` and writes a checkpoint.
    package static func run(
        at path: String, options: LogStoreOptions
    ) throws(StorageError) {
        try run(try StoreEngine.open(existing: path, options: options))
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
