import SheafStorage
import SheafSystem

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// A file with a temporary name, locked as long as the process that writes it has it open.
///
/// A killed process leaves its file, but no lock, because a lock of `flock` ends with the process.
/// So the next export to the directory can lock the file, and removes it. The file of a running
/// export stays locked. Where the file system has no locks, no export removes the file of another.
final class TemporaryFile {
    /// The beginning of all temporary names; 64 random bits follow.
    static let prefix = ".sheaf-export-"

    let name: String
    let file: any VolumeFile
    private let lock: FileLock

    /// Number of names that are tried while other exports remove the file before it is locked.
    private static let maximumAttempts = 10

    /// Creates a file in a directory, and removes those that killed processes left there.
    init(in volume: PosixVolume) throws(VolumeError) {
        Self.removeLeftovers(in: volume)
        for _ in 0..<Self.maximumAttempts {
            let name = Self.prefix + String(OperatingSystem.randomInteger(), radix: 16)
            let file = try volume.open(name, .create)
            let lock = FileLock(name, in: volume)
            // Another export may have locked the file first, to remove it.
            if lock.state != .held, lock.isNamed {
                (self.name, self.file, self.lock) = (name, file, lock)
                return
            }
            file.close()
            try? volume.remove(name)
        }
        throw VolumeError(.lock, Self.prefix, VolumeError.Code(EWOULDBLOCK))
    }

    /// Whether a name has the form of a temporary one; others belong to a user.
    private static func isTemporary(_ name: String) -> Bool {
        guard name.hasPrefix(prefix) else { return false }
        let digits = name.utf8.dropFirst(prefix.utf8.count)
        return (1...16).contains(digits.count)
            && digits.allSatisfy { (48...57).contains($0) || (97...102).contains($0) }
    }

    /// Removes the files that no process has locked.
    private static func removeLeftovers(in volume: PosixVolume) {
        // The files are not needed for the export, so errors are ignored.
        for name in (try? volume.names()) ?? [] where isTemporary(name) {
            let lock = FileLock(name, in: volume)
            // If the file was published in the meantime, the name is missing.
            if lock.state == .acquired { try? volume.remove(name) }
        }
    }
}

/// An attempt to lock a file; a lock ends with this object.
private final class FileLock {
    enum State {
        case acquired
        /// Another open file has the lock.
        case held
        /// The file cannot be opened or is not a regular one, or its file system has no locks.
        case unsupported
    }

    let state: State
    private let descriptor: Int32

    init(_ name: String, in volume: PosixVolume) {
        let path = "\(volume.path)/\(name)"
        // These flags avoid following a link, and waiting for the other end of a pipe.
        descriptor = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        var status = stat()
        guard descriptor >= 0, fstat(descriptor, &status) == 0,
            status.st_mode & S_IFMT == S_IFREG
        else {
            state = .unsupported
            return
        }
        if flock(descriptor, LOCK_EX | LOCK_NB) == 0 {
            state = .acquired
        } else {
            state = errno == EWOULDBLOCK ? .held : .unsupported
        }
    }

    deinit {
        if descriptor >= 0 { close(descriptor) }
    }

    /// Whether the file is open and has a name, so that no other process has removed it.
    var isNamed: Bool {
        var status = stat()
        return fstat(descriptor, &status) == 0 && status.st_nlink > 0
    }
}
