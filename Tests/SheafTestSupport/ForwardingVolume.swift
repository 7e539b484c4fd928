package import SheafStorage

/// A volume that forwards all calls to another one; conforming types replace some of them.
///
/// Each requirement of `Volume` must be here: for a missing one, its default in `Volume` is used.
package protocol ForwardingVolume: Volume {
    associatedtype Inner: Volume

    /// The volume that receives the calls.
    var inner: Inner { get }
}

extension ForwardingVolume {
    package var path: String { inner.path }
    package var isInstant: Bool { inner.isInstant }
    package var identity: UInt64 { inner.identity }
    package var systemIdentity: UInt64 { inner.systemIdentity }

    package func names() throws(VolumeError) -> [String] { try inner.names() }

    package func open(_ name: String, _ access: FileAccess) throws(VolumeError) -> any VolumeFile {
        try inner.open(name, access)
    }

    package func rename(_ name: String, to newName: String) throws(VolumeError) {
        try inner.rename(name, to: newName)
    }

    package func remove(_ name: String) throws(VolumeError) { try inner.remove(name) }

    package func synchronizeNamesOnce() throws(VolumeError) { try inner.synchronizeNamesOnce() }

    package func lock() throws(VolumeError) -> LockOutcome { try inner.lock() }

    package func directory(
        _ name: String, creating: Bool
    ) throws(VolumeError) -> (any Volume)? {
        try inner.directory(name, creating: creating)
    }

    package func removeDirectory(_ name: String) throws(VolumeError) {
        try inner.removeDirectory(name)
    }

    package func share(_ name: String, from other: any Volume) throws(VolumeError) -> Bool {
        try inner.share(name, from: other)
    }

    package func watch(_ name: String) -> (any VolumeWatch)? { inner.watch(name) }

    package func identity(of name: String) throws(VolumeError) -> UInt64 {
        try inner.identity(of: name)
    }
}

/// A file that forwards all calls to another one; conforming types replace some of them.
package protocol ForwardingFile: VolumeFile {
    /// The file that receives the calls; volumes open files of any type.
    var inner: any VolumeFile { get }
}

extension ForwardingFile {
    package var name: String { inner.name }

    package func size() throws(VolumeError) -> Int { try inner.size() }

    package func read(
        into buffer: UnsafeMutableRawBufferPointer, at offset: Int
    ) throws(VolumeError) -> Int {
        try inner.read(into: buffer, at: offset)
    }

    package func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws(VolumeError) -> Int {
        try inner.write(bytes, at: offset)
    }

    package func synchronizeOnce() throws(VolumeError) { try inner.synchronizeOnce() }

    package func truncate(to size: Int) throws(VolumeError) { try inner.truncate(to: size) }

    package func map(length: Int, _ mode: MappingMode) throws(VolumeError) -> FileMapping {
        try inner.map(length: length, mode)
    }

    package func close() { inner.close() }
}
