package import SheafStorage
import Synchronization

/// An in-memory volume that simulates power cuts, faults, quotas and ignored flushes from a seed.
///
/// It distinguishes visible from durable data: `powerCut` draws one possible state of the disk. The
/// seed and the preceding calls determine the outcome of every call.
package final class SimulatedVolume: Volume {
    package let path = "simulation"
    package let identity: UInt64
    private let disk: Mutex<SimulatedDisk>

    package var systemIdentity: UInt64 { inspect { UInt64($0.restarts) + 1 } }

    /// Creates a volume with these files durable.
    package init(seed: UInt64 = 0, files: [String: [UInt8]] = [:]) {
        identity = seed | 1
        let names = files.keys.sorted()
        let entries = names.enumerated().map {
            SimulatedDirectory.Entry(name: $0.element, inode: $0.offset)
        }
        let inodes = names.map { SimulatedInode(SimulatedContent(files[$0] ?? [])) }
        disk = Mutex(SimulatedDisk(seed: seed, entries: entries, inodes: inodes))
    }

    private init(_ disk: SimulatedDisk, identity: UInt64) {
        self.disk = Mutex(disk)
        self.identity = identity
    }

    /// Returns a new volume with one possible state of the disk after a power cut.
    ///
    /// A quarter of the seeds keep no unsynchronized change, another quarter keep all.
    package func powerCut(seed: UInt64) -> SimulatedVolume {
        SimulatedVolume(disk.withLock { $0.afterPowerCut(seed: seed) }, identity: identity)
    }

    /// Returns the volume as the next process finds it after a process crash.
    ///
    /// Unsynchronized changes are visible, but a later power cut may still lose them.
    package func processDeath(seed: UInt64 = 0) -> SimulatedVolume {
        SimulatedVolume(disk.withLock { $0.afterProcessDeath(seed: seed) }, identity: identity)
    }

    /// Returns a copy of the files in another directory.
    package func copy(identity: UInt64) -> SimulatedVolume {
        SimulatedVolume(
            disk.withLock { $0.afterProcessDeath(seed: identity).withNewFiles(identity) },
            identity: identity)
    }

    /// Returns the volume after its files are restored from an archive into the same directory.
    package func restored(seed: UInt64) -> SimulatedVolume {
        SimulatedVolume(
            disk.withLock { $0.afterProcessDeath(seed: seed).withNewFiles(seed) },
            identity: identity)
    }

    /// Returns the volume after a file system snapshot restore, which keeps all identities.
    package func rolledBack(seed: UInt64) -> SimulatedVolume {
        processDeath(seed: seed)
    }

    package func names() throws(VolumeError) -> [String] {
        try withDisk { disk throws(VolumeError) in
            try disk.beginComplete(.list, "simulation")
            return disk.directory.entries.map(\.name)
        }
    }

    package func open(_ name: String, _ access: FileAccess) throws(VolumeError) -> any VolumeFile {
        let inode = try withDisk { disk throws(VolumeError) in
            try disk.open(name, access)
        }
        return SimulatedFile(name: name, inode: inode, access, of: self)
    }

    package func rename(_ name: String, to newName: String) throws(VolumeError) {
        try withDisk { disk throws(VolumeError) in
            try disk.rename(name, to: newName)
        }
    }

    package func remove(_ name: String) throws(VolumeError) {
        try withDisk { disk throws(VolumeError) in
            try disk.remove(name)
        }
    }

    package func synchronizeNamesOnce() throws(VolumeError) {
        try withDisk { disk throws(VolumeError) in
            try disk.synchronizeNames("simulation")
        }
    }

    package func lock() throws(VolumeError) -> LockOutcome {
        let holder = try withDisk { disk throws(VolumeError) -> Int32?? in
            try disk.beginComplete(.lock, "LOCK")
            return disk.takeLock()
        }
        if let holder { return .held(by: holder) }
        return .acquired(SimulatedLock(of: self))
    }

    package func identity(of name: String) throws(VolumeError) -> UInt64 {
        try withDisk { disk throws(VolumeError) in try disk.identity(of: name) }
    }

    /// Performs one call on the state of the disk.
    func withDisk<Result: Sendable>(
        _ body: (inout SimulatedDisk) throws(VolumeError) -> Result
    ) throws(VolumeError) -> Result {
        try disk.withLock { disk throws(VolumeError) in try body(&disk) }
    }

    /// Reads or changes the state of the disk without counting a call.
    func inspect<Result: Sendable>(_ body: (inout SimulatedDisk) -> Result) -> Result {
        disk.withLock { body(&$0) }
    }
}
