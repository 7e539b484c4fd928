import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// A number that the system gave us for something open, and that it may give to others afterwards.
///
/// The number goes back when it is closed and the last call that uses it has returned: no call can
/// hit a file that another part of the process has opened meanwhile.
final class Descriptor: Sendable {
    private static let closed = 1
    private static let oneCall = 2

    private let number: Int32
    /// Twice the number of calls under way, plus one when no more may begin.
    private let state = Atomic<Int>(0)

    /// Takes over an open descriptor.
    init(_ number: Int32) {
        self.number = number
    }

    deinit {
        close()
    }

    /// Makes a system call whose result is negative when it fails.
    @discardableResult
    func call(
        _ operation: VolumeError.Operation, _ file: String, _ body: (Int32) -> Int
    ) throws(VolumeError) -> Int {
        guard begin() else { throw VolumeError(operation, file, .closed) }
        let result = body(number)
        // The number of the error must be saved before anything else can overwrite it.
        let code = result < 0 ? VolumeError.Code.last : nil
        end()
        if let code { throw VolumeError(operation, file, code) }
        return result
    }

    /// Closes the descriptor once no call uses it; further calls do nothing.
    func close() {
        let (old, _) = state.bitwiseOr(Self.closed, ordering: .acquiringAndReleasing)
        if old == 0 { giveBack() }
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
        if new == Self.closed { giveBack() }
    }

    private func giveBack() {
        // Never retried: after an interruption the number is free, and may be somebody else's. The
        // result tells nothing either: what matters has been synchronized before.
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
    /// How many interruptions in a row are taken for bad luck.
    private static let maximumInterruptions = 1_000

    /// Makes a call again that a signal interrupted, some number of times.
    static func retryingInterruptions(_ body: () -> Int32) -> Int32 {
        for _ in 0..<maximumInterruptions {
            let result = body()
            guard result < 0, errno == EINTR else { return result }
        }
        return body()
    }

    /// Opens the regular file `name` in this directory, and nothing else that may have the name.
    func open(
        _ operation: VolumeError.Operation, _ name: String, _ flags: Int32
    ) throws(VolumeError) -> Descriptor {
        try Self.check(name, for: operation)
        // A pipe would let us wait for somebody at its other end, and a terminal would become ours.
        let safe = flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY
        let number: Int
        do throws(VolumeError) {
            number = try call(operation, name) { directory in
                Int(Self.retryingInterruptions { openat(directory, name, safe, FileMode.file) })
            }
        } catch {
            // Directories and sockets refuse to be opened, each in its own words.
            guard error.code != .exists, try isOtherThing(name, flags) else { throw error }
            throw VolumeError(operation, name, .notARegularFile)
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

    /// Opens this directory, or one that `relation` leads to, as an open file of its own.
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

    /// Whether `name` belongs to something that is no regular file.
    private func isOtherThing(_ name: String, _ flags: Int32) throws(VolumeError) -> Bool {
        let following = flags & O_NOFOLLOW == 0 ? 0 : AT_SYMLINK_NOFOLLOW
        return try call(.open, name) { directory in
            var status = stat()
            // What cannot be looked at has an error already.
            guard fstatat(directory, name, &status, following) == 0 else { return 0 }
            return status.st_mode & S_IFMT == S_IFREG ? 0 : 1
        } == 1
    }

    /// Refuses what is no name of a file in a directory, before the system can take it for a path.
    static func check(
        _ name: String, for operation: VolumeError.Operation
    ) throws(VolumeError) {
        // A name with a slash would leave the directory, and one with a zero byte would be cut.
        let isName =
            !name.isEmpty && name != "." && name != ".."
            && !name.utf8.contains { $0 == 0x2F || $0 == 0 }
        guard isName else { throw VolumeError(operation, name, .invalidName) }
    }

    /// Waits until the bytes of an open file, and its size, are on the disk itself.
    static func synchronizeData(_ number: Int32) -> Int32 {
        #if canImport(Darwin)
            return synchronizeThroughCache(number)
        #else
            return fdatasync(number)
        #endif
    }

    /// Waits until the names in an open directory are on the disk itself.
    static func synchronizeNames(_ number: Int32) -> Int32 {
        #if canImport(Darwin)
            return synchronizeThroughCache(number)
        #else
            return fsync(number)
        #endif
    }

    #if canImport(Darwin)
        private static func synchronizeThroughCache(_ number: Int32) -> Int32 {
            // On these systems `fsync` stops at the cache of the disk.
            let result = fcntl(number, F_FULLFSYNC)
            // Network file systems do not know the call, and have no cache that it could flush.
            guard result < 0, errno == ENOTSUP || errno == EINVAL else { return result }
            return fsync(number)
        }
    #endif
}
