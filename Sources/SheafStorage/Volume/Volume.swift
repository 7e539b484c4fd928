/// A directory of files, with all operations that the storage needs from an operating system.
///
/// It is implemented by POSIX calls, in memory, and by a simulation that injects faults. Calls are
/// coarse, so existentials are cheap enough. Calls block only on the disk.
package protocol Volume: Sendable {
    /// The name of the directory in messages.
    var path: String { get }

    /// Returns the names of entries of any kind, unordered; names that are not UTF-8 are omitted.
    func names() throws(VolumeError) -> [String]

    /// Opens a regular file; a symbolic link to one is an error.
    func open(_ name: String, _ access: FileAccess) throws(VolumeError) -> any VolumeFile

    /// Renames a file or a subdirectory.
    ///
    /// A file replaces a file that has the new name, a subdirectory an empty subdirectory.
    func rename(_ name: String, to newName: String) throws(VolumeError)

    /// Removes a name; the contents remain available to open files and mappings.
    func remove(_ name: String) throws(VolumeError)

    /// Makes all changes of names durable, unless a signal interrupts the call.
    func synchronizeNamesOnce() throws(VolumeError)

    /// Tries to acquire the writer's lock of the directory, without waiting.
    func lock() throws(VolumeError) -> LockOutcome

    /// Returns a subdirectory; a missing one is nil, or durably created if `creating` is true.
    func directory(_ name: String, creating: Bool) throws(VolumeError) -> (any Volume)?

    /// Removes an empty subdirectory.
    func removeDirectory(_ name: String) throws(VolumeError)

    /// Gives a file of another directory a second name in this one; the contents are the same.
    ///
    /// Returns false if the file system cannot do so; the caller then copies the file.
    func share(_ name: String, from other: any Volume) throws(VolumeError) -> Bool

    /// Whether no call ever blocks, because there is no disk.
    var isInstant: Bool { get }

    /// The identity of the directory, which a copy in its place does not share; zero if unknown.
    var identity: UInt64 { get }

    /// The identity of the running system, which changes when it restarts; zero if unknown.
    ///
    /// After a restart, bytes that a program reads are on the disk or in files written since.
    var systemIdentity: UInt64 { get }

    /// Starts to watch the writes to a regular file; nil if there is none, or the system cannot.
    ///
    /// A symbolic link is not followed.
    func watch(_ name: String) -> (any VolumeWatch)?

    /// Returns an identity of a file that changes when the file is copied or written.
    ///
    /// Returns zero if the system provides none.
    func identity(of name: String) throws(VolumeError) -> UInt64
}

extension Volume {
    /// Makes all changes of names durable.
    package func synchronizeNames() throws(VolumeError) {
        try repeatingInterruptions { () throws(VolumeError) in try synchronizeNamesOnce() }
    }

    package var isInstant: Bool { false }
    package var identity: UInt64 { 0 }
    package var systemIdentity: UInt64 { 0 }
    package func watch(_ name: String) -> (any VolumeWatch)? { nil }

    package func identity(of name: String) throws(VolumeError) -> UInt64 { 0 }

    package func removeDirectory(_ name: String) throws(VolumeError) {
        throw VolumeError(.remove, name, .noDirectories)
    }

    package func share(_ name: String, from other: any Volume) throws(VolumeError) -> Bool {
        false
    }

    package func directory(
        _ name: String, creating: Bool
    ) throws(VolumeError) -> (any Volume)? {
        guard creating else { return nil }
        throw VolumeError(.create, name, .noDirectories)
    }
}

/// The access mode of an opened file.
package enum FileAccess: Sendable {
    /// Read access to an existing file.
    case read
    /// Read and write access to an existing file.
    case write
    /// Read and write access to a new file; no file of that name may exist.
    case create
}

/// The result of trying to acquire a directory lock.
package enum LockOutcome: Sendable {
    /// The lock is held until it is released or the process ends.
    case acquired(any VolumeLock)
    /// The lock is already held, with the process number of the holder if it is available.
    case held(by: Int32?)
}

/// A held directory lock.
package protocol VolumeLock: AnyObject, Sendable {
    /// Releases the lock; further calls do nothing.
    func release()
}

/// A watch of the writes to one file.
package protocol VolumeWatch: AnyObject, Sendable {
    /// Waits for a write since the previous call, for `interrupt`, or for the time to pass.
    func wait(milliseconds: Int)

    /// Ends the current wait, or the next one.
    func interrupt()
}

/// An open file.
///
/// `read`, `write` and `synchronizeOnce` behave like the system calls: they may be interrupted, and
/// transfer fewer bytes than requested. Other code calls `readFully`, `writeFully` and
/// `synchronize`, which repeat them.
package protocol VolumeFile: AnyObject, Sendable {
    /// The name under which the file was opened.
    var name: String { get }

    /// Returns the size of the file in bytes.
    func size() throws(VolumeError) -> Int

    /// Reads up to the buffer's length at `offset`; returns zero at the end of the file.
    func read(
        into buffer: UnsafeMutableRawBufferPointer, at offset: Int
    ) throws(VolumeError) -> Int

    /// Writes a prefix of `bytes` at `offset`; returns the length of the prefix.
    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws(VolumeError) -> Int

    /// Makes all written bytes durable, unless a signal interrupts the call.
    func synchronizeOnce() throws(VolumeError)

    /// Truncates the file, or fills it up with zeros to a larger size.
    func truncate(to size: Int) throws(VolumeError)

    /// Maps the first `length` bytes of the file into memory.
    ///
    /// The file may be shorter, but bytes after its end must not be accessed until it has grown.
    func map(length: Int, _ mode: MappingMode) throws(VolumeError) -> FileMapping

    /// Closes the file; mappings remain valid. Further calls do nothing.
    func close()
}

/// The relation of a mapping to its file.
package enum MappingMode: Sendable {
    /// A read-only mapping that shows later writes to the file.
    case shared
    /// A writable mapping whose changes are private and never reach the file.
    case copyOnWrite
}

/// The number of consecutive interruptions at which a call fails.
private let maximumInterruptions = 1_000

/// Calls `body` up to `maximumInterruptions` times while signals interrupt it; throws other errors.
///
/// An interrupted flush has marked no page as clean, so repeating the call writes the rest. After a
/// failure such as EIO or ENOSPC the system may have dropped dirty pages, so a flush must not be
/// repeated then.
private func repeatingInterruptions(
    _ body: () throws(VolumeError) -> Void
) throws(VolumeError) {
    for _ in 1..<maximumInterruptions {
        do throws(VolumeError) { return try body() } catch {
            guard error.code == .interrupted else { throw error }
        }
    }
    try body()
}

extension VolumeFile {
    /// Makes all written bytes durable.
    package func synchronize() throws(VolumeError) {
        try repeatingInterruptions { () throws(VolumeError) in try synchronizeOnce() }
    }

    /// Reads until the buffer is full; throws if the file ends too early.
    package func readFully(
        into buffer: UnsafeMutableRawBufferPointer, at offset: Int
    ) throws(VolumeError) {
        var done = 0
        var interruptions = 0
        while done < buffer.count {
            do throws(VolumeError) {
                let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[done...])
                let count = try read(into: rest, at: offset + done)
                guard count > 0 else {
                    throw VolumeError(.read, name, .unexpectedEnd)
                }
                done += count
                interruptions = 0
            } catch  where error.code == .interrupted {
                interruptions += 1
                guard interruptions < maximumInterruptions else { throw error }
            }
        }
    }

    /// Writes all of `bytes`; after an error any part of them may have been written.
    package func writeFully(
        _ bytes: UnsafeRawBufferPointer, at offset: Int
    ) throws(VolumeError) {
        var done = 0
        var interruptions = 0
        while done < bytes.count {
            do throws(VolumeError) {
                let rest = UnsafeRawBufferPointer(rebasing: bytes[done...])
                let count = try write(rest, at: offset + done)
                // Without progress or an error the loop would never end.
                guard count > 0 else {
                    throw VolumeError(.write, name, .noProgress)
                }
                done += count
                interruptions = 0
            } catch  where error.code == .interrupted {
                interruptions += 1
                guard interruptions < maximumInterruptions else { throw error }
            }
        }
    }

    /// Returns the contents of the file; throws if it is longer than `limit` bytes.
    package func readAll(limit: Int) throws(VolumeError) -> [UInt8] {
        let size = try size()
        guard size <= limit else { throw VolumeError(.read, name, .tooLarge) }
        var bytes = [UInt8](repeating: 0, count: size)
        var failure: VolumeError?
        bytes.withUnsafeMutableBytes { buffer in
            do throws(VolumeError) {
                try readFully(into: buffer, at: 0)
            } catch {
                failure = error
            }
        }
        if let failure { throw failure }
        return bytes
    }
}
