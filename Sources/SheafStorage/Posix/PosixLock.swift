#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// The lock of a directory: an advisory lock on a file in it.
///
/// `flock` belongs to the open file, so it also keeps two stores of one process apart, and it goes
/// when the process dies. The locks of `fcntl` do neither.
final class PosixLock: VolumeLock {
    /// The file that is locked; it stays when the lock goes.
    static let fileName = "LOCK"
    /// The most digits of a process number, and the end of the line.
    private static let maximumLength = 16

    private let descriptor: Descriptor?
    private let kind: LockKind

    private init(_ descriptor: Descriptor?, _ kind: LockKind) {
        self.descriptor = descriptor
        self.kind = kind
    }

    /// Asks for the lock of `directory`, and does not wait for it.
    static func acquire(
        _ kind: LockKind, in directory: Descriptor
    ) throws(VolumeError) -> LockOutcome {
        guard let file = try openFile(for: kind, in: directory) else {
            return .acquired(PosixLock(nil, kind))
        }
        let request = (kind == .exclusive ? LOCK_EX : LOCK_SH) | LOCK_NB
        do throws(VolumeError) {
            try file.call(.lock, fileName) { number in
                Int(Descriptor.retryingInterruptions { flock(number, request) })
            }
        } catch  where error.code == VolumeError.Code(EWOULDBLOCK) {
            return .held(by: holder(of: file))
        }
        if kind == .exclusive { leaveProcessNumber(in: file) }
        return .acquired(PosixLock(file, kind))
    }

    func release() {
        guard let descriptor else { return }
        if kind == .exclusive { Self.eraseProcessNumber(in: descriptor) }
        // A child that is being started shares every open file until its program runs, and the lock
        // belongs to the open file: to close it would leave the lock to the child for a moment.
        _ = try? descriptor.call(.lock, Self.fileName) { Int(flock($0, LOCK_UN)) }
        descriptor.close()
    }

    deinit {
        release()
    }

    /// The file to be locked; none when there is no file, and no way to make one.
    private static func openFile(
        for kind: LockKind, in directory: Descriptor
    ) throws(VolumeError) -> Descriptor? {
        guard kind == .shared else {
            return try directory.open(.lock, fileName, O_RDWR | O_CREAT)
        }
        do throws(VolumeError) {
            return try directory.open(.lock, fileName, O_RDONLY)
        } catch  where error.code != .noSuchFile {
            throw error
        } catch {}
        do throws(VolumeError) {
            return try directory.open(.lock, fileName, O_RDONLY | O_CREAT)
        } catch  where [.permissionDenied, .readOnlyFileSystem, .notPermitted].contains(error.code)
        {
            // Whoever writes makes the file first. Where it is missing and we cannot make it, no
            // writer is at work: this is an archive, a backup or a disk for reading only.
            return nil
        }
    }

    /// The process that holds a lock which was refused to us, if it is alive and left its number.
    private static func holder(of file: Descriptor) -> Int32? {
        var bytes = [UInt8](repeating: 0, count: maximumLength)
        let count = try? file.call(.lock, fileName) { number in
            bytes.withUnsafeMutableBytes { pread(number, $0.baseAddress, $0.count, 0) }
        }
        let digits = bytes.prefix(count ?? 0).prefix { $0 != 0x0A }
        guard let process = Int32(String(decoding: digits, as: UTF8.self)), process > 0 else {
            return nil
        }
        // A writer that was killed leaves its number behind; the holder is then another one, that
        // only reads and leaves none.
        guard kill(process, 0) == 0 || errno != ESRCH else { return nil }
        return process
    }

    // The number is a help for those who are refused. That a full disk does not take it is no
    // reason to refuse the lock.
    private static func leaveProcessNumber(in file: Descriptor) {
        eraseProcessNumber(in: file)
        let line = Array("\(getpid())\n".utf8)
        _ = try? file.call(.lock, fileName) { pwrite($0, line, line.count, 0) }
    }

    private static func eraseProcessNumber(in file: Descriptor) {
        _ = try? file.call(.lock, fileName) { Int(ftruncate($0, 0)) }
    }
}
