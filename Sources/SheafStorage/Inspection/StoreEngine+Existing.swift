extension StoreEngine {
    /// Opens the existing store at `path` for writing; never creates one.
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
