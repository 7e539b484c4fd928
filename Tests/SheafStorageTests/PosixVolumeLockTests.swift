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

    /// Other numbers for the open files of the directory, the lock's among them, as a child has
    /// them that is being started.
    private func sharedDescriptors() -> [Int32] {
        var own = stat()
        guard stat(directory.path, &own) == 0 else { return [] }
        let numbers = (3..<1_024 as Range<Int32>).filter { number in
            var file = stat()
            return fstat(number, &file) == 0 && file.st_dev == own.st_dev
                && file.st_ino == own.st_ino
        }
        // Only now, or the new numbers would be found as well.
        return numbers.map { dup($0) }
    }

    @Test func `a released lock is free also while a child still shares the file`() throws {
        let volume = try volume()
        for kind in [LockKind.exclusive, .shared] {
            let lock = try #require(try acquire(kind, on: volume))
            let shared = sharedDescriptors()
            #expect(shared.count >= 2)
            lock.release()
            #expect(try holder(.exclusive, on: volume) == nil)
            for number in shared { _ = close(number) }
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
        let child = try lockInAnotherProcess()
        #expect(try holder(.exclusive, on: volume) == child.identifier)
        #expect(try holder(.shared, on: volume) == child.identifier)
        child.kill()
        #expect(child.wait() == 128 + SIGKILL)
        // The number stays in the file, and a reader that holds the lock must not answer to it.
        let reader = try #require(try acquire(.shared, on: volume))
        #expect(try holder(.exclusive, on: volume) == 0)
        reader.release()
        #expect(try holder(.exclusive, on: volume) == nil)
    }

    /// Starts a process that locks the directory, leaves its number, and stays until it is killed.
    private func lockInAnotherProcess() throws -> ChildProcess {
        let path = directory.path
        let command = "echo $$ > \(path)/LOCK; echo ready; exec tail -f /dev/null > /dev/null"
        let child = try ChildProcess(
            "/usr/bin/flock", ["--exclusive", "--no-fork", path, "sh", "-c", command])
        try #require(child.lines() == ["ready"])
        return child
    }

    @Test func `a number that a killed writer left is not that of a reader`() throws {
        let volume = try volume()
        // The number is that of a process that lives, and has nothing to do with the store.
        try volume.write(Array("\(getppid())\n".utf8), to: "LOCK")
        let reader = try #require(try acquire(.shared, on: volume))
        #expect(try holder(.exclusive, on: volume) == 0)
        reader.release()
    }

    @Test func `a writer keeps the directory also when somebody removes the file`() throws {
        let first = try volume()
        let lock = try #require(try acquire(.exclusive, on: first))
        try first.remove("LOCK")
        let second = try volume()
        for kind in [LockKind.exclusive, .shared] { #expect(try holder(kind, on: second) == 0) }
        #expect(try second.names() == [])
        // Nor is a file that somebody put there instead ours to be emptied.
        try first.write(Array("1\n".utf8), to: "LOCK")
        lock.release()
        #expect(try first.contents(of: "LOCK") == Array("1\n".utf8))
        #expect(try holder(.exclusive, on: second) == nil)
    }

    @Test func `a file of the name that is not ours stays as it is`() throws {
        let volume = try volume()
        let texts = [
            "somebody's\n", "12", "012\n", "+12\n", "12\n\n", "12\nmore", "-12\n", "0\n", "\n",
            "4294967296\n", String(repeating: "1", count: 40) + "\n",
        ]
        for text in texts {
            try volume.write(Array(text.utf8), to: "LOCK")
            let lock = try #require(try acquire(.exclusive, on: volume))
            #expect(try holder(.exclusive, on: volume) == 0, "\(text)")
            lock.release()
            #expect(try volume.contents(of: "LOCK") == Array(text.utf8))
            try volume.remove("LOCK")
        }
        // What was written into our own file meanwhile stays as well.
        let lock = try #require(try acquire(.exclusive, on: volume))
        try volume.open("LOCK", .write).writeFully(Array("notes about it\n".utf8), at: 0)
        lock.release()
        #expect(try volume.contents(of: "LOCK") == Array("notes about it\n".utf8))
    }

    @Test func `a lock file that is no file of the directory is not written through`() throws {
        let volume = try volume()
        try volume.write([], to: "target")
        let makers: [(String, (String) -> Int32)] = [
            ("link", { symlink("target", $0) }), ("pipe", { mkfifo($0, 0o644) }),
            ("directory", { mkdir($0, 0o755) }),
        ]
        for (kind, make) in makers {
            try #require(make(directory.path("LOCK")) == 0)
            let error = VolumeError(.lock, "LOCK", .notARegularFile)
            #expect(throws: error, "\(kind)") { try volume.lock(.exclusive) }
            // Those who only look need no file, and nothing was left locked.
            try #require(try acquire(.shared, on: volume)).release()
            #expect(rename(directory.path("LOCK"), directory.path(kind)) == 0)
        }
        #expect(try volume.contents(of: "target") == [])
    }

    @Test func `those who only look make no file`() throws {
        let volume = try volume()
        let lock = try #require(try acquire(.shared, on: volume))
        #expect(try volume.names() == [])
        #expect(try holder(.exclusive, on: volume) == 0)
        lock.release()
    }

    @Test func `a directory for reading only is locked by readers, and by no writer`() throws {
        #expect(chmod(directory.path, 0o555) == 0)
        defer { chmod(directory.path, 0o755) }
        let volume = try volume()
        let lock = try #require(try acquire(.shared, on: volume))
        lock.release()
        // For the super-user every directory is writable.
        guard geteuid() != 0 else { return }
        #expect(
            code { _ = try volume.lock(.exclusive) } == .permissionDenied)
    }
}
