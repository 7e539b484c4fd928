/// Folds a store that nobody has open.
package enum StoreCompaction {
    /// Folds everything before the history horizon of `options`, and writes a checkpoint.
    package static func run(
        at path: String, options: LogStoreOptions
    ) throws(StorageError) {
        // A path that is no store stays none.
        _ = try ReadOnlyVolume.open(at: path)
        let volume = try translatingErrors { () throws(VolumeError) in
            try PosixVolume(path: path, creatingDirectory: false)
        }
        try run(in: volume, options: options)
    }

    /// Folds everything before the history horizon of `options`, and writes a checkpoint.
    package static func run(
        in volume: any Volume, options: LogStoreOptions
    ) throws(StorageError) {
        let engine = try StoreEngine(opening: volume, options: options)
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
