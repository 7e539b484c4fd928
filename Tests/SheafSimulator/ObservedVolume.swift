package import SheafStorage

/// A volume with a callback before every call that changes the disk.
///
/// Simulations run on one thread, which also runs the callback.
package final class ObservedVolume: Volume {
    private let inner: any Volume
    nonisolated(unsafe) private let beforeChange: () -> Void

    /// Wraps `inner`; calls `beforeChange` before each call that changes the disk.
    package init(_ inner: any Volume, beforeChange: @escaping () -> Void) {
        self.inner = inner
        self.beforeChange = beforeChange
    }

    package var path: String { inner.path }
    package var identity: UInt64 { inner.identity }
    package var systemIdentity: UInt64 { inner.systemIdentity }

    package func names() throws(VolumeError) -> [String] {
        try inner.names()
    }

    package func open(_ name: String, _ access: FileAccess) throws(VolumeError) -> any VolumeFile {
        if case .create = access { beforeChange() }
        return ObservedFile(try inner.open(name, access), beforeChange: beforeChange)
    }

    package func rename(_ name: String, to newName: String) throws(VolumeError) {
        beforeChange()
        try inner.rename(name, to: newName)
    }

    package func remove(_ name: String) throws(VolumeError) {
        beforeChange()
        try inner.remove(name)
    }

    package func synchronizeNamesOnce() throws(VolumeError) {
        beforeChange()
        try inner.synchronizeNamesOnce()
    }

    package func lock() throws(VolumeError) -> LockOutcome {
        try inner.lock()
    }
}

private final class ObservedFile: VolumeFile {
    private let inner: any VolumeFile
    nonisolated(unsafe) private let beforeChange: () -> Void

    init(_ inner: any VolumeFile, beforeChange: @escaping () -> Void) {
        self.inner = inner
        self.beforeChange = beforeChange
    }

    var name: String { inner.name }

    func size() throws(VolumeError) -> Int {
        try inner.size()
    }

    func read(
        into buffer: UnsafeMutableRawBufferPointer, at offset: Int
    ) throws(VolumeError) -> Int {
        try inner.read(into: buffer, at: offset)
    }

    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws(VolumeError) -> Int {
        beforeChange()
        return try inner.write(bytes, at: offset)
    }

    func synchronizeOnce() throws(VolumeError) {
        beforeChange()
        try inner.synchronizeOnce()
    }

    func truncate(to size: Int) throws(VolumeError) {
        beforeChange()
        try inner.truncate(to: size)
    }

    func map(length: Int, _ mode: MappingMode) throws(VolumeError) -> FileMapping {
        try inner.map(length: length, mode)
    }

    func close() {
        inner.close()
    }
}
