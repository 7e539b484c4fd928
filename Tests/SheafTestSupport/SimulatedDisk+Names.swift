import SheafStorage

extension SimulatedDisk {
    /// Opens or creates a file and returns its inode index.
    mutating func open(_ name: String, _ access: FileAccess) throws(VolumeError) -> Int {
        guard access == .create else {
            try beginComplete(.open, name)
            guard let inode = directory.inode(name) else {
                throw VolumeError(.open, name, .noSuchFile)
            }
            inodes[inode].openCount += 1
            return inode
        }
        let inode = inodes.count
        try change(.create, name) { disk throws(VolumeError) in
            guard disk.directory.inode(name) == nil else {
                throw VolumeError(.create, name, .exists)
            }
            disk.inodes.append(SimulatedInode(birth: disk.drawBirth()))
            disk.inodes[inode].openCount = 1
            disk.directory.addName(name, inode)
        }
        return inode
    }

    /// Renames a file; a file that has the new name loses it.
    mutating func rename(_ name: String, to newName: String) throws(VolumeError) {
        try change(.rename, name) { disk throws(VolumeError) in
            guard let inode = disk.directory.inode(name) else {
                throw VolumeError(.rename, name, .noSuchFile)
            }
            if let replaced = disk.directory.inode(newName), replaced != inode {
                disk.inodes[replaced].isNamed = false
            }
            disk.directory.rename(inode, to: newName)
        }
    }

    /// Removes the name of a file.
    mutating func remove(_ name: String) throws(VolumeError) {
        try change(.remove, name) { disk throws(VolumeError) in
            guard let inode = disk.directory.inode(name) else {
                throw VolumeError(.remove, name, .noSuchFile)
            }
            disk.directory.removeName(name, inode)
            disk.inodes[inode].isNamed = false
        }
    }

    /// Acquires the lock and returns nil, or returns the process that holds it, if known.
    mutating func takeLock() -> Int32?? {
        guard !isLocked else { return processIdentifier }
        isLocked = true
        return nil
    }

    /// Releases the lock.
    mutating func releaseLock() {
        isLocked = false
    }
}
