#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// An advisory lock on the directory itself, since a lock file could be deleted while it is locked.
///
/// A lock of `flock` belongs to the open file and ends with the process. Unlike a lock of `fcntl`,
/// it also excludes a second opening in the same process.
final class PosixLock: VolumeLock {
    private let path: String
    private let directory: Descriptor
    /// The file with the process number of the holder; nil if the disk was full.
    private let file: ProcessNumberFile?

    private init(_ path: String, _ directory: Descriptor, _ file: ProcessNumberFile?) {
        self.path = path
        self.directory = directory
        self.file = file
    }

    /// Acquires the lock of `directory`, which is at `path`, without waiting.
    static func acquire(
        _ directory: Descriptor, at path: String
    ) throws(VolumeError) -> LockOutcome {
        let own = Descriptor(try directory.openOnceMore(.lock, path))
        guard try acquireLock(of: own, at: path) else {
            return .held(by: ProcessNumberFile.holder(in: directory))
        }
        do throws(VolumeError) {
            return .acquired(
                PosixLock(path, own, try ProcessNumberFile.writeProcessNumber(in: directory)))
        } catch {
            release(own, at: path)
            throw error
        }
    }

    func release() {
        file?.erase()
        Self.release(directory, at: path)
    }

    deinit {
        release()
    }

    /// Requests the lock; returns whether it was acquired.
    private static func acquireLock(
        of directory: Descriptor, at path: String
    ) throws(VolumeError) -> Bool {
        do throws(VolumeError) {
            try directory.call(.lock, path) { number in
                Int(Descriptor.retryingInterruptions { flock(number, LOCK_EX | LOCK_NB) })
            }
            return true
        } catch {
            guard error.code == VolumeError.Code(EWOULDBLOCK) else { throw error }
            return false
        }
    }

    private static func release(_ directory: Descriptor, at path: String) {
        // Until a child process replaces its program, it shares all open files and therefore the
        // lock. Closing without unlocking would leave the lock to the child for that time.
        _ = try? directory.call(.lock, path) { Int(flock($0, LOCK_UN)) }
        directory.close()
    }
}

/// The file that contains the writer's process number, used only in error messages.
///
/// The file persists after the lock is released. Other programs use the same name, so a file with
/// other contents is never changed.
private final class ProcessNumberFile: Sendable {
    private static let name = FileName.lockName
    /// The maximum length to read, more than a process number and a line feed.
    private static let maximumLength = 16

    private let descriptor: Descriptor

    private init(_ descriptor: Descriptor) {
        self.descriptor = descriptor
    }

    /// Writes the number of this process, for error messages of other processes.
    ///
    /// The number is optional: a full disk or a file of another program does not prevent the lock.
    /// If the file cannot be created for another reason, commits would fail, too, so the error is
    /// thrown.
    static func writeProcessNumber(in directory: Descriptor) throws(VolumeError)
        -> ProcessNumberFile?
    {
        let file: ProcessNumberFile
        do throws(VolumeError) {
            file = ProcessNumberFile(try directory.open(.lock, name, O_RDWR | O_CREAT))
        } catch {
            guard error.code.meansFull else { throw error }
            return nil
        }
        file.replace(by: Array("\(getpid())\n".utf8))
        return file
    }

    /// Returns the process that holds the lock, if it is running and has written its number.
    static func holder(in directory: Descriptor) -> Int32? {
        guard let descriptor = try? directory.open(.lock, name, O_RDONLY),
            let process = ProcessNumberFile(descriptor).process
        else { return nil }
        // The process number of a killed writer remains in the file.
        guard kill(process, 0) == 0 || errno != ESRCH else { return nil }
        return process
    }

    /// Removes the number and closes the file.
    func erase() {
        replace(by: [])
        descriptor.close()
    }

    /// The number in the file; nil unless it contains exactly a number and a line feed.
    private var process: Int32? {
        guard let bytes = contents, bytes.last == 0x0A else { return nil }
        let digits = String(decoding: bytes.dropLast(), as: UTF8.self)
        guard let process = Int32(digits), process > 0, String(process) == digits else {
            return nil
        }
        return process
    }

    private var contents: [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: Self.maximumLength)
        let count = try? descriptor.call(.lock, Self.name) { number in
            bytes.withUnsafeMutableBytes { pread(number, $0.baseAddress, $0.count, 0) }
        }
        return count.map { Array(bytes.prefix($0)) }
    }

    private func replace(by line: [UInt8]) {
        guard process != nil || contents == [] else { return }
        _ = try? descriptor.call(.lock, Self.name) { number in
            ftruncate(number, 0) == 0 ? pwrite(number, line, line.count, 0) : -1
        }
    }
}
