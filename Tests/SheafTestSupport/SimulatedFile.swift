import SheafStorage
import Synchronization

/// An open file of a simulated volume.
final class SimulatedFile: VolumeFile {
    let name: String
    private let inode: Int
    private let volume: SimulatedVolume
    private let isWritable: Bool
    private let isClosed = Atomic<Bool>(false)

    /// Creates an open file, closed by `close` or by its deinitializer.
    init(name: String, inode: Int, _ access: FileAccess, of volume: SimulatedVolume) {
        self.name = name
        self.inode = inode
        self.volume = volume
        isWritable = access != .read
    }

    deinit {
        close()
    }

    func size() throws(VolumeError) -> Int {
        try onOpenFile(.size) { disk throws(VolumeError) in
            try disk.beginComplete(.size, name)
            return disk.inodes[inode].current.size
        }
    }

    func read(
        into buffer: UnsafeMutableRawBufferPointer, at offset: Int
    ) throws(VolumeError) -> Int {
        try onOpenFile(.read) { disk throws(VolumeError) in
            try disk.read(inode, name, into: buffer, at: offset)
        }
    }

    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws(VolumeError) -> Int {
        try onOpenFile(.write, changing: true) { disk throws(VolumeError) in
            try disk.write(inode, name, bytes, at: offset)
        }
    }

    func synchronizeOnce() throws(VolumeError) {
        try onOpenFile(.synchronize) { disk throws(VolumeError) in
            try disk.synchronize(inode, name)
        }
    }

    func truncate(to size: Int) throws(VolumeError) {
        try onOpenFile(.truncate, changing: true) { disk throws(VolumeError) in
            try disk.truncate(inode, name, to: size)
        }
    }

    func map(length: Int, _ mode: MappingMode) throws(VolumeError) -> FileMapping {
        let bytes = try onOpenFile(.map) { disk throws(VolumeError) in
            try disk.beginComplete(.map, name)
            switch mode {
            case .shared:
                return disk.inodes[inode].mappedBytes(length: length)
            case .copyOnWrite:
                return SimulatedContent(
                    copying: disk.inodes[inode].current, capacity: length
                ).bytes
            }
        }
        // The mapping retains the bytes for its lifetime.
        return FileMapping(base: bytes.base, count: length) { withExtendedLifetime(bytes) {} }
    }

    func close() {
        guard !isClosed.exchange(true, ordering: .acquiringAndReleasing) else { return }
        volume.inspect { disk in
            disk.inodes[inode].openCount -= 1
            disk.reclaim(inode)
        }
    }

    private func onOpenFile<Result: Sendable>(
        _ operation: VolumeError.Operation, changing: Bool = false,
        _ body: (inout SimulatedDisk) throws(VolumeError) -> Result
    ) throws(VolumeError) -> Result {
        guard !isClosed.load(ordering: .acquiring), isWritable || !changing else {
            throw VolumeError(operation, name, .closed)
        }
        return try volume.withDisk(body)
    }
}

/// A held lock of a simulated volume.
final class SimulatedLock: VolumeLock {
    private let volume: SimulatedVolume
    private let isReleased = Atomic<Bool>(false)

    /// Creates a lock that `volume` has granted.
    init(of volume: SimulatedVolume) {
        self.volume = volume
    }

    deinit {
        release()
    }

    func release() {
        guard !isReleased.exchange(true, ordering: .acquiringAndReleasing) else { return }
        volume.inspect { $0.releaseLock() }
    }
}
