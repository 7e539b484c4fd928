import SheafStorage
import SheafTestSupport
import Synchronization

/// A directory whose files change while they are read for the first time.
final class ObservedFiles: Volume {
    private let inner: SimulatedVolume
    private let change: SimulatedCorruption?

    init(_ files: [String: [UInt8]], atFirstRead change: SimulatedCorruption? = nil) {
        inner = SimulatedVolume(files: files)
        self.change = change
    }

    var path: String { inner.path }

    func names() throws(VolumeError) -> [String] { try inner.names() }

    func open(_ name: String, _ access: FileAccess) throws(VolumeError) -> any VolumeFile {
        let (inner, change) = (inner, change)
        return ObservedFile(try inner.open(name, access)) {
            if let change { inner.corrupt(name, change) }
        }
    }

    func rename(_ name: String, to newName: String) throws(VolumeError) {
        try inner.rename(name, to: newName)
    }

    func remove(_ name: String) throws(VolumeError) { try inner.remove(name) }

    func synchronizeNamesOnce() throws(VolumeError) { try inner.synchronizeNamesOnce() }

    func lock() throws(VolumeError) -> LockOutcome { try inner.lock() }
}

/// A file that calls a closure before it is read for the first time.
private final class ObservedFile: VolumeFile {
    private let inner: any VolumeFile
    private let beforeFirstRead: @Sendable () -> Void
    private let isRead = Atomic(false)

    init(_ inner: any VolumeFile, beforeFirstRead: @escaping @Sendable () -> Void) {
        self.inner = inner
        self.beforeFirstRead = beforeFirstRead
    }

    var name: String { inner.name }

    func size() throws(VolumeError) -> Int { try inner.size() }

    func read(
        into buffer: UnsafeMutableRawBufferPointer, at offset: Int
    ) throws(VolumeError) -> Int {
        if !isRead.exchange(true, ordering: .relaxed) { beforeFirstRead() }
        return try inner.read(into: buffer, at: offset)
    }

    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws(VolumeError) -> Int {
        try inner.write(bytes, at: offset)
    }

    func synchronizeOnce() throws(VolumeError) { try inner.synchronizeOnce() }

    func truncate(to size: Int) throws(VolumeError) { try inner.truncate(to: size) }

    func map(length: Int, _ mode: MappingMode) throws(VolumeError) -> FileMapping {
        try inner.map(length: length, mode)
    }

    func close() { inner.close() }
}
