import SheafStorage
import SheafTestSupport
import Synchronization

/// A directory whose files change while they are read for the first time.
final class ObservedFiles: ForwardingVolume {
    let inner: SimulatedVolume
    private let change: SimulatedCorruption?

    init(_ files: [String: [UInt8]], atFirstRead change: SimulatedCorruption? = nil) {
        inner = SimulatedVolume(files: files)
        self.change = change
    }

    func open(_ name: String, _ access: FileAccess) throws(VolumeError) -> any VolumeFile {
        let (inner, change) = (inner, change)
        return ObservedFile(try inner.open(name, access)) {
            if let change { inner.corrupt(name, change) }
        }
    }
}

/// A file that calls a closure before it is read for the first time.
private final class ObservedFile: ForwardingFile {
    let inner: any VolumeFile
    private let beforeFirstRead: @Sendable () -> Void
    private let isRead = Atomic(false)

    init(_ inner: any VolumeFile, beforeFirstRead: @escaping @Sendable () -> Void) {
        self.inner = inner
        self.beforeFirstRead = beforeFirstRead
    }

    func read(
        into buffer: UnsafeMutableRawBufferPointer, at offset: Int
    ) throws(VolumeError) -> Int {
        if !isRead.exchange(true, ordering: .relaxed) { beforeFirstRead() }
        return try inner.read(into: buffer, at: offset)
    }
}
