package import SheafStorage
import Synchronization

/// A volume in memory that can lose its power, fail, fill up and lie, all from a seed.
///
/// It keeps apart what processes see and what the disk has: `powerCut` draws one of the states
/// in which the disk may be when the power comes back. Every call is decided by the seed and the
/// calls before it, so the same calls on the same seed end the same.
package final class SimulatedVolume: Volume {
    package let path = "simulation"
    package let identity: UInt64
    private let disk: Mutex<SimulatedDisk>

    /// An empty volume, or one that has these files on its disk.
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

    /// One possible state of the disk after the power comes back, as a volume of its own.
    ///
    /// A quarter of all seeds keeps nothing that was not synchronized, and a quarter everything.
    package func powerCut(seed: UInt64) -> SimulatedVolume {
        SimulatedVolume(disk.withLock { $0.afterPowerCut(seed: seed) }, identity: identity)
    }

    /// The volume as the next process finds it when this one dies and the power stays.
    ///
    /// What was not synchronized is still visible, and still in danger.
    package func processDeath(seed: UInt64 = 0) -> SimulatedVolume {
        SimulatedVolume(disk.withLock { $0.afterProcessDeath(seed: seed) }, identity: identity)
    }

    /// The same files in another directory.
    package func copy(identity: UInt64) -> SimulatedVolume {
        SimulatedVolume(
            disk.withLock { $0.afterProcessDeath(seed: identity).withNewFiles(identity) },
            identity: identity)
    }

    /// The files of this volume, taken out of an archive into the directory in which they lay.
    package func restored(seed: UInt64) -> SimulatedVolume {
        SimulatedVolume(
            disk.withLock { $0.afterProcessDeath(seed: seed).withNewFiles(seed) },
            identity: identity)
    }

    /// The volume as a snapshot of the file system brings it back, which nothing tells from before.
    package func rolledBack(seed: UInt64) -> SimulatedVolume {
        processDeath(seed: seed)
    }

    package func names() throws(VolumeError) -> [String] {
        try withDisk { disk throws(VolumeError) in
            try disk.beginWhole(.list, "simulation")
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

    package func lock(_ kind: LockKind) throws(VolumeError) -> LockOutcome {
        let holder = try withDisk { disk throws(VolumeError) -> Int32?? in
            try disk.beginWhole(.lock, "LOCK")
            return disk.takeLock(kind)
        }
        if let holder { return .held(by: holder) }
        return .acquired(SimulatedLock(of: self))
    }

    package func identity(of name: String) throws(VolumeError) -> UInt64 {
        try withDisk { disk throws(VolumeError) in try disk.identity(of: name) }
    }

    /// Runs one call on the state of the disk.
    func withDisk<Result: Sendable>(
        _ body: (inout SimulatedDisk) throws(VolumeError) -> Result
    ) throws(VolumeError) -> Result {
        try disk.withLock { disk throws(VolumeError) in try body(&disk) }
    }

    /// Looks at or changes the state of the disk.
    func inspect<Result: Sendable>(_ body: (inout SimulatedDisk) -> Result) -> Result {
        disk.withLock { body(&$0) }
    }
}
