import SheafBytes

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// A volume in a directory of the operating system.
///
/// All names are relative to the open directory, so renaming it or a parent directory has no
/// effect.
package final class PosixVolume: Volume {
    package let path: String
    let directory: Descriptor

    /// Opens the directory at `path`; a missing one is created durably or is an error.
    package init(path: String, creatingDirectory: Bool) throws(VolumeError) {
        self.path = path
        // The system would truncate the path at a zero byte.
        guard !path.isEmpty, !path.utf8.contains(0) else {
            throw VolumeError(creatingDirectory ? .create : .open, path, .noPath)
        }
        guard creatingDirectory else {
            directory = try Self.openDirectory(path)
            return
        }
        try Self.makeDirectory(path)
        directory = try Self.openDirectory(path)
        // A process may have been killed between creating the directory and syncing its name.
        try? Self.synchronizeNames(around: path, "..")
    }

    package var identity: UInt64 {
        var birth: FileBirth?
        _ = try? directory.call(.open, path) { number in
            birth = FileBirth(of: number)
            return 0
        }
        return birth?.hash ?? 0
    }

    package var systemIdentity: UInt64 { RunningSystem.identity }

    #if !canImport(Darwin)
        package func watch(_ name: String) -> (any VolumeWatch)? {
            FileWatch(name, in: directory)
        }
    #endif

    package func identity(of name: String) throws(VolumeError) -> UInt64 {
        let file = try directory.open(.open, name, O_RDONLY)
        defer { file.close() }
        var birth: FileBirth?
        _ = try file.call(.open, name) { number in
            birth = FileBirth(of: number)
            return 0
        }
        return birth?.hashWithChange ?? 0
    }

    private init(path: String, _ directory: Descriptor) {
        self.path = path
        self.directory = directory
    }

    package func directory(
        _ name: String, creating: Bool
    ) throws(VolumeError) -> (any Volume)? {
        try Descriptor.check(name, for: creating ? .create : .open)
        if creating {
            do throws(VolumeError) {
                try directory.call(.create, name) { Int(mkdirat($0, name, FileMode.directory)) }
            } catch  where error.code == .exists {
                // If the existing entry is not a directory, opening it fails.
            }
            // An existing name is synced, too: its creator may have been killed before syncing.
            try synchronizeNames()
        }
        do throws(VolumeError) {
            let number = try directory.openOnceMore(.open, name, relation: name)
            return PosixVolume(path: path + "/" + name, Descriptor(number))
        } catch  where error.code == .noSuchFile && !creating {
            return nil
        }
    }

    package func names() throws(VolumeError) -> [String] {
        // Listing moves the position of an open directory, so each listing opens it anew.
        let listing = try directory.openOnceMore(.list, path)
        guard let stream = fdopendir(listing) else {
            let code = VolumeError.Code.last
            Descriptor(listing).close()
            throw VolumeError(.list, path, code)
        }
        defer { closedir(stream) }
        var names: [String] = []
        while true {
            errno = 0
            guard let entry = readdir(stream) else {
                let code = VolumeError.Code.last
                guard code.rawValue == 0 else { throw VolumeError(.list, path, code) }
                return names
            }
            if let name = Self.name(of: entry), name != ".", name != ".." { names.append(name) }
        }
    }

    package func open(_ name: String, _ access: FileAccess) throws(VolumeError) -> any VolumeFile {
        let descriptor =
            switch access {
            case .read: try directory.open(.open, name, O_RDONLY)
            case .write: try directory.open(.open, name, O_RDWR)
            case .create: try directory.open(.create, name, O_RDWR | O_CREAT | O_EXCL)
            }
        return PosixFile(name: name, descriptor: descriptor)
    }

    package func rename(_ name: String, to newName: String) throws(VolumeError) {
        try Descriptor.check(name, for: .rename)
        try Descriptor.check(newName, for: .rename)
        try directory.call(.rename, name) { Int(renameat($0, name, $0, newName)) }
    }

    package func remove(_ name: String) throws(VolumeError) {
        try Descriptor.check(name, for: .remove)
        do throws(VolumeError) {
            try directory.call(.remove, name) { Int(unlinkat($0, name, 0)) }
        } catch {
            guard try isDirectory(name) else { throw error }
            throw VolumeError(.remove, name, .notARegularFile)
        }
    }

    package func synchronizeNamesOnce() throws(VolumeError) {
        try directory.call(.synchronizeNames, path) { Int(Descriptor.synchronizeNames($0)) }
    }

    package func lock() throws(VolumeError) -> LockOutcome {
        try PosixLock.acquire(directory, at: path)
    }

    private func isDirectory(_ name: String) throws(VolumeError) -> Bool {
        try directory.call(.remove, name) { number in
            var status = stat()
            // If `fstatat` fails, the caller throws the error of `unlinkat`.
            guard fstatat(number, name, &status, AT_SYMLINK_NOFOLLOW) == 0 else { return 0 }
            return status.st_mode & S_IFMT == S_IFDIR ? 1 : 0
        } == 1
    }

    /// Returns the name of an entry, or nil if it is not valid UTF-8.
    private static func name(of entry: UnsafeMutablePointer<dirent>) -> String? {
        guard let offset = MemoryLayout<dirent>.offset(of: \dirent.d_name) else { return nil }
        let bytes = UnsafeRawPointer(entry) + offset
        return String(validatingCString: bytes.assumingMemoryBound(to: CChar.self))
    }
}

extension PosixVolume {
    /// The maximum number of missing parent directories that one call creates.
    private static let maximumDepth = 100

    private static func openDirectory(_ path: String) throws(VolumeError) -> Descriptor {
        let number = Descriptor.retryingInterruptions {
            #if canImport(Glibc)
                Glibc.open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
            #elseif canImport(Musl)
                Musl.open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
            #else
                Darwin.open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
            #endif
        }
        guard number >= 0 else { throw VolumeError(.open, path, .last) }
        return Descriptor(number)
    }

    /// Creates the directory and its missing parents, from the top down.
    ///
    /// Each directory is synced before the next is created, so a killed process leaves at most one
    /// directory that is not durable.
    private static func makeDirectory(_ path: String, depth: Int = 0) throws(VolumeError) {
        let mode = depth == 0 ? FileMode.directory : FileMode.parentDirectory
        guard mkdir(path, mode) != 0 else { return try makeDurable(path) }
        let code = VolumeError.Code.last
        // If the existing entry is not a directory, opening it fails.
        guard code != .exists else { return }
        guard code == .noSuchFile, depth < maximumDepth, let parent = parent(of: path) else {
            throw VolumeError(.create, path, code)
        }
        try makeDirectory(parent, depth: depth + 1)
        guard mkdir(path, mode) != 0 else { return try makeDurable(path) }
        let last = VolumeError.Code.last
        guard last == .exists else { throw VolumeError(.create, path, last) }
    }

    private static func makeDurable(_ path: String) throws(VolumeError) {
        try synchronizeNames(around: path, "..")
        // The parent may be the last directory that a killed process created.
        try? synchronizeNames(around: path, "../..")
    }

    /// Syncs the names in the directory that `relation` leads to from `path`.
    private static func synchronizeNames(
        around path: String, _ relation: String
    ) throws(VolumeError) {
        let number = try openDirectory(path).openOnceMore(.open, path, relation: relation)
        try Descriptor(number).call(.synchronizeNames, path) { number in
            Int(Descriptor.retryingInterruptions { Descriptor.synchronizeNames(number) })
        }
    }

    /// Returns the path without its last component; nil if there is no parent directory.
    private static func parent(of path: String) -> String? {
        var bytes = path.utf8[...]
        while bytes.last == 0x2F { bytes.removeLast() }
        while let last = bytes.last, last != 0x2F { bytes.removeLast() }
        while bytes.last == 0x2F { bytes.removeLast() }
        return bytes.isEmpty ? nil : String(Substring(bytes))
    }
}
