import SheafStorage
import SheafTestSupport
import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

@Suite struct PosixVolumeLockTests {
    private let directory = TemporaryDirectory()

    private func volume() throws -> PosixVolume {
        try PosixVolume(path: directory.path, creatingDirectory: false)
    }

    /// The lock, or nil where it is refused.
    private func acquire(_ kind: LockKind, on volume: PosixVolume) throws -> (any VolumeLock)? {
        guard case .acquired(let lock) = try volume.lock(kind) else { return nil }
        return lock
    }

    /// Who holds the lock; zero where nobody knows, nil where the lock is free.
    private func holder(_ kind: LockKind, on volume: PosixVolume) throws -> Int32? {
        switch try volume.lock(kind) {
        case .acquired: nil
        case .held(let process): process ?? 0
        }
    }

    @Test func `an exclusive lock keeps out everybody else in the same process`() throws {
        let first = try volume()
        let second = try volume()
        let lock = try #require(try acquire(.exclusive, on: first))
        for volume in [first, second] {
            #expect(try holder(.exclusive, on: volume) == OperatingSystem.processIdentifier)
            #expect(try holder(.shared, on: volume) == OperatingSystem.processIdentifier)
        }
        lock.release()
        lock.release()
        #expect(try holder(.exclusive, on: second) == nil)
    }

    @Test func `shared locks go together and keep a writer out`() throws {
        let volume = try volume()
        let first = try #require(try acquire(.shared, on: volume))
        let second = try #require(try acquire(.shared, on: volume))
        #expect(try holder(.exclusive, on: volume) == 0)
        first.release()
        #expect(try holder(.exclusive, on: volume) == 0)
        second.release()
        #expect(try holder(.exclusive, on: volume) == nil)
    }

    /// Another number for the lock's open file, as a child has one that is being started.
    private func sharedLockFile() -> Int32? {
        for number in 3..<1_024 as Range<Int32> {
            var file = stat()
            var lock = stat()
            guard fstat(number, &file) == 0, stat(directory.path("LOCK"), &lock) == 0,
                file.st_dev == lock.st_dev, file.st_ino == lock.st_ino
            else { continue }
            return dup(number)
        }
        return nil
    }

    @Test func `a released lock is free also while a child still shares the file`() throws {
        let volume = try volume()
        for kind in [LockKind.exclusive, .shared] {
            let lock = try #require(try acquire(kind, on: volume))
            let shared = try #require(sharedLockFile())
            lock.release()
            #expect(try holder(.exclusive, on: volume) == nil)
            close(shared)
        }
    }

    @Test func `a lock that nobody remembers is released`() throws {
        let volume = try volume()
        do {
            _ = try acquire(.exclusive, on: volume)
        }
        #expect(try holder(.exclusive, on: volume) == nil)
    }

    @Test func `the holder leaves its number, and takes it with it`() throws {
        let volume = try volume()
        let lock = try #require(try acquire(.exclusive, on: volume))
        let line = Array("\(OperatingSystem.processIdentifier)\n".utf8)
        #expect(try volume.contents(of: "LOCK") == line)
        lock.release()
        #expect(try volume.contents(of: "LOCK") == [])
    }

    @Test func `an unreadable number in the lock file is no number`() throws {
        let volume = try volume()
        // No process has the last number, so whoever left it is dead.
        for text in ["", "\n", "abc\n", "-5\n", "0\n", "99999999999999999999\n", "2147483647\n"] {
            let lock = try #require(try acquire(.exclusive, on: volume))
            let file = try volume.open("LOCK", .write)
            try file.truncate(to: 0)
            try file.writeFully(Array(text.utf8), at: 0)
            #expect(try holder(.exclusive, on: volume) == 0, "\(text)")
            lock.release()
        }
    }

    @Test func `another process is kept out, and its lock goes when it is killed`() throws {
        let volume = try volume()
        try acquire(.exclusive, on: volume)?.release()
        // The tool belongs to Linux.
        guard access("/usr/bin/flock", X_OK) == 0 else { return }
        let child = try lockInAnotherProcess(directory.path("LOCK"))
        #expect(try holder(.exclusive, on: volume) == child)
        #expect(try holder(.shared, on: volume) == child)
        #expect(kill(child, SIGKILL) == 0)
        #expect(waitpid(child, nil, 0) == child)
        // The number stays in the file, and a reader that holds the lock must not answer to it.
        let reader = try #require(try acquire(.shared, on: volume))
        #expect(try holder(.exclusive, on: volume) == 0)
        reader.release()
        #expect(try holder(.exclusive, on: volume) == nil)
    }

    /// Starts a process that locks a file, writes its number into it, and stays until it is killed.
    private func lockInAnotherProcess(_ path: String) throws -> pid_t {
        var ends: [Int32] = [0, 0]
        try #require(pipe(&ends) == 0)
        defer { _ = close(ends[0]) }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, ends[1], 1)
        posix_spawn_file_actions_addclose(&actions, ends[0])
        let command = "echo $$ > \(path); echo ready; exec tail -f /dev/null"
        let arguments = ["flock", "--exclusive", "--no-fork", path, "sh", "-c", command]
        var pointers = arguments.map { strdup($0) } + [nil]
        defer { for pointer in pointers { free(pointer) } }
        var child = pid_t()
        let result = posix_spawn(&child, "/usr/bin/flock", &actions, nil, &pointers, environ)
        _ = close(ends[1])
        try #require(result == 0)
        var line = [UInt8](repeating: 0, count: 16)
        let count = read(ends[0], &line, line.count)
        try #require(line.prefix(max(count, 0)) == Array("ready\n".utf8)[...])
        return child
    }

    @Test func `readers lock a directory where they cannot make the file`() throws {
        // As the super-user every directory is writable: there the file is made.
        #expect(chmod(directory.path, 0o555) == 0)
        defer { chmod(directory.path, 0o755) }
        let volume = try volume()
        let lock = try #require(try acquire(.shared, on: volume))
        lock.release()
        guard geteuid() != 0 else { return }
        #expect(try volume.names() == [])
        #expect(
            code { _ = try volume.lock(.exclusive) } == .permissionDenied)
    }
}
