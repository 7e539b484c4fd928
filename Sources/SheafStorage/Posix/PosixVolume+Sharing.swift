#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

extension PosixVolume {
    package func removeDirectory(_ name: String) throws(VolumeError) {
        try Descriptor.check(name, for: .remove)
        try directory.call(.remove, name) { Int(unlinkat($0, name, AT_REMOVEDIR)) }
    }

    package func share(_ name: String, from other: any Volume) throws(VolumeError) -> Bool {
        try Descriptor.check(name, for: .create)
        guard let other = other as? PosixVolume else { return false }
        var failure: VolumeError?
        try directory.call(.create, name) { target in
            do throws(VolumeError) {
                // A symbolic link is followed: a relative one would lead elsewhere from here.
                return try other.directory.call(.create, name) { source in
                    Int(linkat(source, name, target, name, AT_SYMLINK_FOLLOW))
                }
            } catch {
                failure = error
                return 0
            }
        }
        guard let failure else { return true }
        guard Self.codesWithoutSharing.contains(failure.code) else { throw failure }
        return false
    }

    /// Gives a file a second name, which must be new; returns false if the file system cannot.
    package func link(_ name: String, as newName: String) throws(VolumeError) -> Bool {
        try Descriptor.check(newName, for: .create)
        do throws(VolumeError) {
            try directory.call(.create, newName) { Int(linkat($0, name, $0, newName, 0)) }
            return true
        } catch {
            guard Self.codesWithoutSharing.contains(error.code) else { throw error }
            return false
        }
    }

    /// The errors of a file system that cannot give the file a second name.
    private static let codesWithoutSharing: Set<VolumeError.Code> = [
        VolumeError.Code(EXDEV), VolumeError.Code(EPERM), VolumeError.Code(EMLINK),
        VolumeError.Code(EOPNOTSUPP), VolumeError.Code(ENOSYS), VolumeError.Code(EACCES),
        VolumeError.Code(ENOENT),
    ]
}

/// Paths as the system resolves them.
package enum PosixPath {
    /// Returns the absolute path without symbolic links; nil if it does not exist.
    package static func resolved(_ path: String) -> String? {
        guard let resolved = realpath(path, nil) else { return nil }
        defer { free(resolved) }
        return String(cString: resolved)
    }

    /// Whether the path leads to a regular file; a pipe, for example, can be opened only once.
    package static func isRegularFile(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
    }

    /// Whether the path itself is a symbolic link, even one that leads nowhere.
    package static func isSymbolicLink(_ path: String) -> Bool {
        var status = stat()
        return lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFLNK
    }
}
