/// A directory of files, and all that the storage asks of an operating system about it.
///
/// There are two: the one over POSIX calls, and the one that tests make lie. Calls are coarse, so
/// they go through existentials; no call may block on anything but the disk.
package protocol Volume: Sendable {
    /// What messages call the directory.
    var path: String { get }

    /// The names of all that is in the directory, be it a file or not, in no order.
    func names() throws(VolumeError) -> [String]

    /// Opens a file.
    func open(_ name: String, _ access: FileAccess) throws(VolumeError) -> any VolumeFile

    /// Gives a file another name; a file that had that name is gone.
    func rename(_ name: String, to newName: String) throws(VolumeError)

    /// Takes a name away; the bytes live on for those who have the file open or mapped.
    func remove(_ name: String) throws(VolumeError)

    /// Returns when all names that were created, changed and removed so far survive a power cut, or
    /// when a signal interrupts the call.
    func synchronizeNamesOnce() throws(VolumeError)

    /// Takes the lock of the directory without waiting for it.
    func lock(_ kind: LockKind) throws(VolumeError) -> LockOutcome

    /// The directory of that name in this one; nil where there is none and none is to be made, or else
    /// it is made to last.
    func directory(_ name: String, creating: Bool) throws(VolumeError) -> (any Volume)?

    /// Whether no call ever waits, for there is no disk: nobody needs a thread to wait for one.
    var isInstant: Bool { get }

    /// What tells the directory from all others, also from a copy that was put in its place; 0 where
    /// nobody knows.
    var identity: UInt64 { get }

    /// Returns what tells a file from every copy of it, and from itself once it was written again; 0
    /// where the system does not know.
    func identity(of name: String) throws(VolumeError) -> UInt64
}

extension Volume {
    /// Returns when all names that were created, changed and removed so far survive a power cut.
    package func synchronizeNames() throws(VolumeError) {
        try repeatingInterruptions { () throws(VolumeError) in try synchronizeNamesOnce() }
    }

    package var isInstant: Bool { false }
    package var identity: UInt64 { 0 }

    package func identity(of name: String) throws(VolumeError) -> UInt64 { 0 }

    package func directory(
        _ name: String, creating: Bool
    ) throws(VolumeError) -> (any Volume)? {
        guard creating else { return nil }
        throw VolumeError(.create, name, .noDirectories)
    }
}

/// What an opened file is wanted for.
package enum FileAccess: Sendable {
    /// An existing file, to be read.
    case read
    /// An existing file, to be read and written.
    case write
    /// A new file, to be read and written; a file of that name must not exist.
    case create
}

/// Who else may hold the lock of a directory.
package enum LockKind: Sendable {
    /// Nobody: for those who write.
    case exclusive
    /// Others who only read.
    case shared
}

/// What came of asking for the lock of a directory.
package enum LockOutcome: Sendable {
    /// The lock is ours until it is released or the process dies.
    case acquired(any VolumeLock)
    /// Another holder has it; its process number, where the holder left it.
    case held(by: Int32?)
}

/// The lock of a directory, held.
package protocol VolumeLock: AnyObject, Sendable {
    /// Gives the lock back; further calls do nothing.
    func release()
}

/// An open file.
///
/// `read` and `write` are as raw as the system's: they may move fewer bytes than asked and be
/// interrupted, and so may `synchronizeOnce`. All other code calls `readFully`, `writeFully` and
/// `synchronize`, which repeat them.
package protocol VolumeFile: AnyObject, Sendable {
    /// The name under which the file was opened.
    var name: String { get }

    /// How many bytes the file has.
    func size() throws(VolumeError) -> Int

    /// Reads up to the buffer's length at `offset`; zero means the end of the file.
    func read(
        into buffer: UnsafeMutableRawBufferPointer, at offset: Int
    ) throws(VolumeError) -> Int

    /// Writes a beginning of `bytes` at `offset`, and says how long that beginning was.
    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws(VolumeError) -> Int

    /// Returns when every byte that was written so far survives a power cut, or when a signal
    /// interrupts the call.
    func synchronizeOnce() throws(VolumeError)

    /// Cuts the file, or extends it with zeros.
    func truncate(to size: Int) throws(VolumeError)

    /// Makes the first `length` bytes of the file appear in memory.
    ///
    /// The file may be shorter: bytes past its end must not be touched until it has grown.
    func map(length: Int, _ mode: MappingMode) throws(VolumeError) -> FileMapping

    /// Closes the file; mappings stay. Further calls do nothing.
    func close()
}

/// How a mapping behaves towards its file.
package enum MappingMode: Sendable {
    /// Read-only; shows what is written to the file later.
    case shared
    /// Writable; a page that is changed becomes our own copy, and the file stays as it is.
    case copyOnWrite
}

/// Maximum number of interruptions in a row after which a call is repeated.
private let maximumInterruptions = 1_000

/// Repeats a call that a signal interrupted; any other error is thrown as it is.
///
/// An interrupted flush has marked no page as clean, and has reported no failed write: what it has not
/// written is still dirty, so the same call does the rest. After a failure (EIO, ENOSPC) the system may
/// have dropped dirty pages, so that one must never be repeated.
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
    /// Returns when every byte that was written so far survives a power cut.
    package func synchronize() throws(VolumeError) {
        try repeatingInterruptions { () throws(VolumeError) in try synchronizeOnce() }
    }

    /// Reads until the buffer is full; a file that ends before is an error.
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
                // A disk that takes nothing and reports nothing would keep us here for ever.
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

    /// The whole file, at most `limit` bytes of it.
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
