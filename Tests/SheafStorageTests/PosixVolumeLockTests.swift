import SheafStorage
import SheafSystem
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

    /// Returns the lock, or nil if it is held.
    private func acquire(on volume: PosixVolume) throws -> (any VolumeLock)? {
        guard case .acquired(let lock) = try volume.lock() else { return nil }
        return lock
    }

    /// Returns the process that holds the lock, zero if it is unknown, nil if the lock is free.
    private func holder(on volume: PosixVolume) throws -> Int32? {
        switch try volume.lock() {
        case .acquired: nil
        case .held(let process): process ?? 0
        }
    }

    @Test func `an exclusive lock excludes all other lockers in the same process`() throws {
        let first = try volume()
        let second = try volume()
        let lock = try #require(try acquire(on: first))
        for volume in [first, second] {
            #expect(try holder(on: volume) == OperatingSystem.processIdentifier)
        }
        lock.release()
        lock.release()
        #expect(try holder(on: second) == nil)
    }

    /// Duplicates all descriptors of the directory, including the lock's, as a forked child would.
    private func sharedDescriptors() -> [Int32] {
        var own = stat()
        guard stat(directory.path, &own) == 0 else { return [] }
        // Other tests of the process may have thousands of descriptors.
        let numbers = (3..<65_536 as Range<Int32>).filter { number in
            var file = stat()
            return fstat(number, &file) == 0 && file.st_dev == own.st_dev
                && file.st_ino == own.st_ino
        }
        // `dup` is called afterwards, because the new descriptors would match too.
        return numbers.map { dup($0) }
    }

    @Test func `a released lock is free even while a child shares the descriptor`() throws {
        let volume = try volume()
        let lock = try #require(try acquire(on: volume))
        let shared = sharedDescriptors()
        #expect(shared.count >= 2)
        lock.release()
        #expect(try holder(on: volume) == nil)
        for number in shared { _ = close(number) }
    }

    @Test func `a lock is released with its last reference`() throws {
        let volume = try volume()
        do {
            _ = try acquire(on: volume)
        }
        #expect(try holder(on: volume) == nil)
    }

    @Test func `the lock file contains the process ID of the holder until the release`() throws {
        let volume = try volume()
        let lock = try #require(try acquire(on: volume))
        let line = Array("\(OperatingSystem.processIdentifier)\n".utf8)
        #expect(try volume.contents(of: "LOCK") == line)
        lock.release()
        #expect(try volume.contents(of: "LOCK") == [])
    }

    @Test func `an unreadable process ID in the lock file is ignored`() throws {
        let volume = try volume()
        // No process has the highest ID, so its writer counts as dead.
        for text in ["", "\n", "abc\n", "-5\n", "0\n", "99999999999999999999\n", "2147483647\n"] {
            let lock = try #require(try acquire(on: volume))
            let file = try volume.open("LOCK", .write)
            try file.truncate(to: 0)
            try file.writeFully(Array(text.utf8), at: 0)
            #expect(try holder(on: volume) == 0, "\(text)")
            lock.release()
        }
    }

    @Test func `the lock of another process is held until that process is killed`() throws {
        let volume = try volume()
        try acquire(on: volume)?.release()
        // `flock` exists on Linux only.
        guard access("/usr/bin/flock", X_OK) == 0 else { return }
        let child = try lockInAnotherProcess()
        #expect(try holder(on: volume) == child.identifier)
        child.kill()
        #expect(child.wait() == 128 + SIGKILL)
        #expect(try holder(on: volume) == nil)
    }

    /// Starts a process that locks the directory and writes its process ID.
    private func lockInAnotherProcess() throws -> ChildProcess {
        let path = directory.path
        let command = "echo $$ > \(path)/LOCK; echo ready; exec tail -f /dev/null > /dev/null"
        let child = try ChildProcess(
            "/usr/bin/flock", ["--exclusive", "--no-fork", path, "sh", "-c", command])
        try #require(child.lines() == ["ready"])
        return child
    }

    @Test func `a writer keeps the lock even if its lock file is removed`() throws {
        let first = try volume()
        let lock = try #require(try acquire(on: first))
        try first.remove("LOCK")
        let second = try volume()
        #expect(try holder(on: second) == 0)
        #expect(try second.names() == [])
        // A lock file that another program created is not emptied on release.
        try first.write(Array("1\n".utf8), to: "LOCK")
        lock.release()
        #expect(try first.contents(of: "LOCK") == Array("1\n".utf8))
        #expect(try holder(on: second) == nil)
    }

    @Test func `a lock file with foreign content is not changed`() throws {
        let volume = try volume()
        let texts = [
            "somebody's\n", "12", "012\n", "+12\n", "12\n\n", "12\nmore", "-12\n", "0\n", "\n",
            "4294967296\n", String(repeating: "1", count: 40) + "\n",
        ]
        for text in texts {
            try volume.write(Array(text.utf8), to: "LOCK")
            let lock = try #require(try acquire(on: volume))
            #expect(try holder(on: volume) == 0, "\(text)")
            lock.release()
            #expect(try volume.contents(of: "LOCK") == Array(text.utf8))
            try volume.remove("LOCK")
        }
        // Content that another program writes into the lock file is kept too.
        let lock = try #require(try acquire(on: volume))
        try volume.open("LOCK", .write).writeFully(Array("notes about it\n".utf8), at: 0)
        lock.release()
        #expect(try volume.contents(of: "LOCK") == Array("notes about it\n".utf8))
    }

    @Test func `a lock file that is not a regular file is refused and not written`() throws {
        let volume = try volume()
        try volume.write([], to: "target")
        let makers: [(String, (String) -> Int32)] = [
            ("link", { symlink("target", $0) }), ("pipe", { mkfifo($0, 0o644) }),
            ("directory", { mkdir($0, 0o755) }),
        ]
        for (kind, make) in makers {
            try #require(make(directory.path("LOCK")) == 0)
            let error = VolumeError(
                .lock, "LOCK", kind == "link" ? .symbolicLink : .notARegularFile)
            #expect(throws: error, "\(kind)") { try volume.lock() }
            #expect(rename(directory.path("LOCK"), directory.path(kind)) == 0)
            // The failed call holds no lock.
            try #require(try acquire(on: volume)).release()
            try volume.remove("LOCK")
        }
        #expect(try volume.contents(of: "target") == [])
    }

    @Test func `a read-only directory cannot be locked`() throws {
        #expect(chmod(directory.path, 0o555) == 0)
        defer { chmod(directory.path, 0o755) }
        let volume = try volume()
        // The superuser can write to every directory.
        guard geteuid() != 0 else { return }
        #expect(code { _ = try volume.lock() } == .permissionDenied)
    }
}
