#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// The lock of a directory: an advisory lock on the directory itself, which nobody can remove from
/// under its holder.
///
/// `flock` belongs to the open file, so it also keeps two stores of one process apart, and it goes
/// when the process dies. The locks of `fcntl` do neither.
final class PosixLock: VolumeLock {
    private let path: String
    private let directory: Descriptor
    /// Where an exclusive holder has left its number.
    private let file: ProcessNumberFile?

    private init(_ path: String, _ directory: Descriptor, _ file: ProcessNumberFile?) {
        self.path = path
        self.directory = directory
        self.file = file
    }

    /// Asks for the lock of `directory`, which is at `path`, and does not wait for it.
    static func acquire(
        _ kind: LockKind, of directory: Descriptor, at path: String
    ) throws(VolumeError) -> LockOutcome {
        let own = Descriptor(try directory.openOnceMore(.lock, path))
        guard try take(kind == .exclusive ? LOCK_EX : LOCK_SH, of: own, at: path) else {
            if kind == .exclusive, try take(LOCK_SH, of: own, at: path) {
                // Readers leave no number; what is there is that of a writer who was killed.
                giveBack(own, at: path)
                return .held(by: nil)
            }
            return .held(by: ProcessNumberFile.holder(in: directory))
        }
        guard kind == .exclusive else { return .acquired(PosixLock(path, own, nil)) }
        do throws(VolumeError) {
            return .acquired(PosixLock(path, own, try ProcessNumberFile.leave(in: directory)))
        } catch {
            giveBack(own, at: path)
            throw error
        }
    }

    func release() {
        file?.erase()
        Self.giveBack(directory, at: path)
    }

    deinit {
        release()
    }

    /// Whether the lock is ours now.
    private static func take(
        _ request: Int32, of directory: Descriptor, at path: String
    ) throws(VolumeError) -> Bool {
        do throws(VolumeError) {
            try directory.call(.lock, path) { number in
                Int(Descriptor.retryingInterruptions { flock(number, request | LOCK_NB) })
            }
            return true
        } catch {
            guard error.code == VolumeError.Code(EWOULDBLOCK) else { throw error }
            return false
        }
    }

    private static func giveBack(_ directory: Descriptor, at path: String) {
        // A child that is being started shares every open file until its program runs, and the lock
        // belongs to the open file: to close it would leave the lock to the child for a moment.
        _ = try? directory.call(.lock, path) { Int(flock($0, LOCK_UN)) }
        directory.close()
    }
}

/// The file in which a writer leaves its number, for messages alone; it stays when the lock goes.
///
/// Other programs call their files so, too: what is not a number as we write it is left alone.
private final class ProcessNumberFile: Sendable {
    private static let name = FileName.lockName
    /// The most digits of a process number, the end of the line, and more.
    private static let maximumLength = 16

    private let descriptor: Descriptor

    private init(_ descriptor: Descriptor) {
        self.descriptor = descriptor
    }

    /// Leaves our number for those who are refused.
    ///
    /// It is a help only: that the disk has no room for it, or that the file is another program's,
    /// is no reason to refuse the lock. A directory in which we cannot make it takes no commits.
    static func leave(in directory: Descriptor) throws(VolumeError) -> ProcessNumberFile? {
        let file: ProcessNumberFile
        do throws(VolumeError) {
            file = ProcessNumberFile(try directory.open(.lock, name, O_RDWR | O_CREAT | O_NOFOLLOW))
        } catch {
            guard error.code.meansFull else { throw error }
            return nil
        }
        file.replace(by: Array("\(getpid())\n".utf8))
        return file
    }

    /// The process that holds the lock, if it is alive and left its number.
    static func holder(in directory: Descriptor) -> Int32? {
        guard let descriptor = try? directory.open(.lock, name, O_RDONLY | O_NOFOLLOW),
            let process = ProcessNumberFile(descriptor).process
        else { return nil }
        // A writer that was killed leaves its number behind.
        guard kill(process, 0) == 0 || errno != ESRCH else { return nil }
        return process
    }

    /// Takes the number back.
    func erase() {
        replace(by: [])
        descriptor.close()
    }

    /// The number in the file; none where there is anything else than a number and a line feed.
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
