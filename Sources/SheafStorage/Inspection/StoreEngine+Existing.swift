extension StoreEngine {
    /// Opens the store at `path` for writing; a path that is no store stays none.
    package static func open(
        existing path: String, options: LogStoreOptions = LogStoreOptions()
    ) throws(StorageError) -> StoreEngine {
        _ = try ReadOnlyVolume.open(at: path)
        let volume = try translatingErrors { () throws(VolumeError) in
            try PosixVolume(path: path, creatingDirectory: false)
        }
        return try StoreEngine(opening: volume, options: options)
    }
}
