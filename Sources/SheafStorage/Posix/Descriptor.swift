import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// A file descriptor that is closed only after all calls that use it have returned.
///
/// The system reuses descriptor numbers. The delayed close keeps a call from reaching a file that
/// another part of the process has opened under the same number.
final class Descriptor: Sendable {
    private static let closed = 1
    private static let oneCall = 2

    private let number: Int32
    /// Twice the number of calls in progress, plus one after `close`.
    private let state = Atomic<Int>(0)

    /// Creates the owner of an open descriptor.
    init(_ number: Int32) {
        self.number = number
    }

    deinit {
        close()
    }

    /// Makes a system call that returns a negative result on failure.
    @discardableResult
    func call(
        _ operation: VolumeError.Operation, _ file: String, _ body: (Int32) -> Int
    ) throws(VolumeError) -> Int {
        guard begin() else { throw VolumeError(operation, file, .closed) }
        let result = body(number)
        // The error number is saved before another call can overwrite it.
        let code = result < 0 ? VolumeError.Code.last : nil
        end()
        if let code { throw VolumeError(operation, file, code) }
        return result
    }

    /// Closes the descriptor when no call uses it; further calls do nothing.
    func close() {
        let (old, _) = state.bitwiseOr(Self.closed, ordering: .acquiringAndReleasing)
        if old == 0 { release() }
    }

    private func begin() -> Bool {
        var current = state.load(ordering: .relaxed)
        while current & Self.closed == 0 {
            let (exchanged, original) = state.weakCompareExchange(
                expected: current, desired: current + Self.oneCall,
                ordering: .acquiringAndReleasing)
            if exchanged { return true }
            current = original
        }
        return false
    }

    private func end() {
        let (_, new) = state.subtract(Self.oneCall, ordering: .acquiringAndReleasing)
        if new == Self.closed { release() }
    }

    private func release() {
        // A retry would be wrong: after an interruption the number may be in use again. The result
        // is ignored, because bytes that must be durable have already been synced.
        #if canImport(Glibc)
            _ = Glibc.close(number)
        #elseif canImport(Musl)
            _ = Musl.close(number)
        #else
            _ = Darwin.close(number)
        #endif
    }
}

extension Descriptor {
    /// The maximum number of consecutive interruptions after which a call is repeated.
    private static let maximumInterruptions = 1_000

    /// Repeats a call that a signal interrupted, up to a limit.
    static func retryingInterruptions(_ body: () -> Int32) -> Int32 {
        for _ in 0..<maximumInterruptions {
            let result = body()
            guard result < 0, errno == EINTR else { return result }
        }
        return body()
    }

    /// Opens the file `name` in this directory; throws if it is not a regular file.
    ///
    /// A symbolic link is not followed: a write would change a file outside of the directory.
    func open(
        _ operation: VolumeError.Operation, _ name: String, _ flags: Int32
    ) throws(VolumeError) -> Descriptor {
        try Self.check(name, for: operation)
        // The flags avoid blocking on a pipe and acquiring a controlling terminal.
        let safe = flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY
        let number: Int
        do throws(VolumeError) {
            number = try call(operation, name) { directory in
                Int(Self.retryingInterruptions { openat(directory, name, safe, FileMode.file) })
            }
        } catch {
            // Opening a directory or a socket fails with errors that differ between systems.
            guard error.code != .exists, let code = try kindError(of: name) else { throw error }
            throw VolumeError(operation, name, code)
        }
        let file = Descriptor(Int32(number))
        let isRegular = try file.call(operation, name) { number in
            var status = stat()
            guard fstat(number, &status) == 0 else { return -1 }
            return status.st_mode & S_IFMT == S_IFREG ? 1 : 0
        }
        guard isRegular == 1 else { throw VolumeError(operation, name, .notARegularFile) }
        return file
    }

    /// Opens this directory, or one reached through `relation`, as a new open file.
    func openOnceMore(
        _ operation: VolumeError.Operation, _ path: String, relation: String = "."
    ) throws(VolumeError) -> Int32 {
        let number = try call(operation, path) { directory in
            Int(
                Self.retryingInterruptions {
                    openat(directory, relation, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
                })
        }
        return Int32(number)
    }

    /// Returns the error code for `name` if it is something other than a regular file.
    private func kindError(of name: String) throws(VolumeError) -> VolumeError.Code? {
        let kind = try call(.open, name) { directory in
            var status = stat()
            // If `fstatat` fails, the caller throws the error of `open`.
            guard fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) == 0 else {
                return Int(S_IFREG)
            }
            return Int(status.st_mode & S_IFMT)
        }
        switch kind {
        case Int(S_IFREG): return nil
        case Int(S_IFLNK): return .symbolicLink
        default: return .notARegularFile
        }
    }

    /// Throws if `name` is not a plain file name, because the system could interpret it as a path.
    static func check(
        _ name: String, for operation: VolumeError.Operation
    ) throws(VolumeError) {
        // A slash would leave the directory; a zero byte would truncate the name.
        let isName =
            !name.isEmpty && name != "." && name != ".."
            && !name.utf8.contains { $0 == 0x2F || $0 == 0 }
        guard isName else { throw VolumeError(operation, name, .invalidName) }
    }

    /// Waits until the bytes and the size of an open file are on the physical disk.
    static func synchronizeData(_ number: Int32) -> Int32 {
        #if canImport(Darwin)
            return synchronizeThroughCache(number)
        #else
            return fdatasync(number)
        #endif
    }

    /// Waits until the names in an open directory are on the physical disk.
    static func synchronizeNames(_ number: Int32) -> Int32 {
        #if canImport(Darwin)
            return synchronizeThroughCache(number)
        #else
            return fsync(number)
        #endif
    }

    #if canImport(Darwin)
        private static func synchronizeThroughCache(_ number: Int32) -> Int32 {
            // On Darwin, `fsync` does not flush the cache of the disk.
            let result = fcntl(number, F_FULLFSYNC)
            // Network file systems do not support this call.
            guard result < 0, errno == ENOTSUP || errno == EINVAL else { return result }
            return fsync(number)
        }
    #endif
}
