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

/// Tests of subdirectories, second names and identities of files, and the errors of their calls.
@Suite struct PosixDirectoryTests {
    private let directory = TemporaryDirectory()

    private func volume() throws -> PosixVolume {
        try PosixVolume(path: directory.path, creatingDirectory: false)
    }

    /// Returns the error that `body` throws, or nil.
    private func error(_ body: () throws -> Void) -> VolumeError? {
        do {
            try body()
            return nil
        } catch {
            return error as? VolumeError
        }
    }

    @Test func `errors name the call, the file and the reason`() throws {
        let volume = try volume()
        try volume.write([1], to: "file")
        let missing = directory.path("missing")
        let below = directory.path("file/below")
        let attempts: [(VolumeError, () throws -> Void)] = [
            (VolumeError(.open, "x", .noSuchFile), { _ = try volume.open("x", .read) }),
            (VolumeError(.open, "x", .noSuchFile), { _ = try volume.open("x", .write) }),
            (VolumeError(.create, "file", .exists), { _ = try volume.open("file", .create) }),
            (VolumeError(.open, "a/b", .invalidName), { _ = try volume.open("a/b", .read) }),
            (VolumeError(.create, "a/b", .invalidName), { _ = try volume.open("a/b", .create) }),
            (VolumeError(.rename, "x", .noSuchFile), { try volume.rename("x", to: "y") }),
            (VolumeError(.rename, "", .invalidName), { try volume.rename("", to: "y") }),
            (VolumeError(.rename, "..", .invalidName), { try volume.rename("file", to: "..") }),
            (VolumeError(.remove, "x", .noSuchFile), { try volume.remove("x") }),
            (VolumeError(.remove, ".", .invalidName), { try volume.remove(".") }),
            (VolumeError(.open, "x", .noSuchFile), { _ = try volume.identity(of: "x") }),
            (VolumeError(.remove, "x", .noSuchFile), { try volume.removeDirectory("x") }),
            (VolumeError(.remove, "..", .invalidName), { try volume.removeDirectory("..") }),
            (VolumeError(.remove, "file", .notADirectory), { try volume.removeDirectory("file") }),
            (
                VolumeError(.open, "..", .invalidName),
                { _ = try volume.directory("..", creating: false) }
            ),
            (
                VolumeError(.create, "a/b", .invalidName),
                { _ = try volume.directory("a/b", creating: true) }
            ),
            (
                VolumeError(.open, "file", .notADirectory),
                { _ = try volume.directory("file", creating: true) }
            ),
            (
                VolumeError(.open, "file", .notADirectory),
                { _ = try volume.directory("file", creating: false) }
            ),
            (
                VolumeError(.open, missing, .noSuchFile),
                { _ = try PosixVolume(path: missing, creatingDirectory: false) }
            ),
            (
                VolumeError(.create, below, .notADirectory),
                { _ = try PosixVolume(path: below, creatingDirectory: true) }
            ),
            (
                VolumeError(.open, "", .noPath),
                { _ = try PosixVolume(path: "", creatingDirectory: false) }
            ),
            (
                VolumeError(.create, "a\0b", .noPath),
                { _ = try PosixVolume(path: "a\0b", creatingDirectory: true) }
            ),
        ]
        for (expected, attempt) in attempts { #expect(error(attempt) == expected) }
        #expect(try volume.names() == ["file"])
    }

    @Test func `a subdirectory is created once, found again, and removed when it is empty`() throws
    {
        let volume = try volume()
        #expect(try volume.directory("sub", creating: false) == nil)
        #expect(try volume.names() == [])
        let created = try #require(try volume.directory("sub", creating: true))
        #expect(created.path == directory.path + "/sub")
        try created.write([1, 2], to: "a")
        for creating in [true, false] {
            let found = try #require(try volume.directory("sub", creating: creating))
            #expect(try found.names() == ["a"])
            #expect(try found.contents(of: "a") == [1, 2])
            #expect(found.identity == created.identity && found.identity != volume.identity)
            #expect(found.systemIdentity == volume.systemIdentity)
        }
        #expect(try volume.names() == ["sub"])
        // An open subdirectory is not its name.
        try volume.rename("sub", to: "other")
        try created.write([3], to: "b")
        let renamed = try #require(try volume.directory("other", creating: false))
        #expect(try renamed.names().sorted() == ["a", "b"])
        #expect(error { try volume.removeDirectory("other") }?.code == .notEmpty)
        for name in ["a", "b"] { try created.remove(name) }
        try volume.removeDirectory("other")
        #expect(try volume.directory("other", creating: false) == nil)
        #expect(try volume.names() == [])
    }

    @Test func `a file of another directory gets a second name, and stays the same file`() throws {
        let volume = try volume()
        let source = try #require(try volume.directory("source", creating: true))
        let target = try #require(try volume.directory("target", creating: true))
        try source.write([1, 2, 3], to: "a")
        #expect(symlink("a", directory.path("source/link")) == 0)
        for name in ["a", "link"] {
            #expect(try target.share(name, from: source))
            #expect(try target.contents(of: name) == [1, 2, 3])
            #expect(try target.identity(of: name) == source.identity(of: "a"))
        }
        let file = try target.open("a", .write)
        try file.writeFully([9], at: 1)
        #expect(try source.contents(of: "a") == [1, 9, 3])
        #expect(try target.contents(of: "link") == [1, 9, 3])
        try source.remove("a")
        #expect(try target.contents(of: "a") == [1, 9, 3])
        // Files that another file system has, or that are gone, are copied by the caller.
        #expect(try !target.share("missing", from: source))
        #expect(try !target.share("a", from: MemoryVolume()))
        try source.write([4], to: "a")
        let expected = VolumeError(.create, "a", .exists)
        #expect(error { _ = try target.share("a", from: source) } == expected)
        #expect(try target.contents(of: "a") == [1, 9, 3])
        let invalid = VolumeError(.create, "../a", .invalidName)
        #expect(error { _ = try target.share("../a", from: source) } == invalid)
    }

    @Test func `a file gets a second name in its directory`() throws {
        let volume = try volume()
        try volume.write([1, 2], to: "a")
        #expect(try volume.link("a", as: "b"))
        #expect(try volume.identity(of: "a") == volume.identity(of: "b"))
        #expect(try volume.contents(of: "b") == [1, 2])
        #expect(try !volume.link("missing", as: "c"))
        #expect(error { _ = try volume.link("a", as: "b") } == VolumeError(.create, "b", .exists))
        let invalid = VolumeError(.create, "c/d", .invalidName)
        #expect(error { _ = try volume.link("a", as: "c/d") } == invalid)
        #expect(try volume.names().sorted() == ["a", "b"])
    }

    @Test func `identities distinguish directories and files`() throws {
        let (one, two) = (try volume(), try volume())
        #expect(one.identity != 0 && one.identity == two.identity)
        let temporary = TemporaryDirectory()
        let other = try PosixVolume(path: temporary.path, creatingDirectory: false)
        #expect(other.identity != 0 && other.identity != one.identity)
        #expect(one.systemIdentity != 0 && one.systemIdentity == other.systemIdentity)
        for name in ["a", "b"] { try one.write([1], to: name) }
        let found = try one.identity(of: "a")
        #expect(found != 0)
        #expect(try two.identity(of: "a") == found)
        #expect(try one.identity(of: "b") != found)
    }

    @Test func `paths are resolved, and their kinds are recognized`() throws {
        try volume().write([1], to: "file")
        let names: [(String, isFile: Bool, isLink: Bool, target: String?)] = [
            ("file", true, false, "file"), ("link", true, true, "file"),
            ("broken", false, true, nil), ("folder", false, false, "folder"),
            ("folder/../link", true, true, "file"), ("missing", false, false, nil),
        ]
        #expect(symlink("file", directory.path("link")) == 0)
        #expect(symlink("nowhere", directory.path("broken")) == 0)
        #expect(mkdir(directory.path("folder"), 0o755) == 0)
        let root = try #require(PosixPath.resolved(directory.path))
        for (name, isFile, isLink, target) in names {
            let path = directory.path(name)
            #expect(PosixPath.isRegularFile(path) == isFile, "\(name)")
            #expect(PosixPath.isSymbolicLink(path) == isLink, "\(name)")
            #expect(PosixPath.resolved(path) == target.map { root + "/" + $0 }, "\(name)")
        }
    }

    #if !canImport(Darwin)
        @Test func `an interruption or a write ends a wait for a file`() throws {
            let volume = try volume()
            try volume.write([1], to: "file")
            let watch = try #require(volume.watch("file"))
            for _ in 0..<3 {
                watch.interrupt()
                watch.interrupt()
                watch.wait(milliseconds: 600_000)
            }
            watch.wait(milliseconds: 0)
            try volume.open("file", .write).writeFully([2], at: 0)
            watch.wait(milliseconds: 600_000)
        }
    #endif
}
