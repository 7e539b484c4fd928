/// A view of another volume that refuses all changes.
package protocol UnwritableVolume: Volume {
    /// The volume that has the files.
    var base: any Volume { get }
}

extension UnwritableVolume {
    package var path: String { base.path }
    package var identity: UInt64 { base.identity }
    package var systemIdentity: UInt64 { base.systemIdentity }
    package var isInstant: Bool { base.isInstant }

    package func watch(_ name: String) -> (any VolumeWatch)? { base.watch(name) }

    package func rename(_ name: String, to newName: String) throws(VolumeError) {
        throw refusal(.rename, name)
    }

    package func remove(_ name: String) throws(VolumeError) {
        throw refusal(.remove, name)
    }

    package func synchronizeNamesOnce() throws(VolumeError) {
        throw refusal(.synchronizeNames, path)
    }

    package func lock() throws(VolumeError) -> LockOutcome {
        throw refusal(.lock, FileName.lockName)
    }

    package func directory(
        _ name: String, creating: Bool
    ) throws(VolumeError) -> (any Volume)? {
        guard !creating else { throw refusal(.create, name) }
        guard let directory = try base.directory(name, creating: false) else { return nil }
        return ReadOnlyVolume(directory)
    }

    /// Returns the error for a change of a file.
    func refusal(_ operation: VolumeError.Operation, _ name: String) -> VolumeError {
        VolumeError(operation, name, .readOnlyFileSystem)
    }
}

/// A file that refuses all changes, and that its owner closes.
protocol UnwritableFile: VolumeFile {}

extension UnwritableFile {
    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws(VolumeError) -> Int {
        throw VolumeError(.write, name, .readOnlyFileSystem)
    }

    func synchronizeOnce() throws(VolumeError) {
        throw VolumeError(.synchronize, name, .readOnlyFileSystem)
    }

    func truncate(to size: Int) throws(VolumeError) {
        throw VolumeError(.truncate, name, .readOnlyFileSystem)
    }

    func close() {}
}
