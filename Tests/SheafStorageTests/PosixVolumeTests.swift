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

/// Returns the code of the error that `body` throws, or nil.
func code(_ body: () throws -> Void) -> VolumeError.Code? {
    do {
        try body()
        return nil
    } catch let error as VolumeError {
        return error.code
    } catch {
        Issue.record("Unexpected error: \(error)")
        return nil
    }
}

@Suite struct PosixVolumeTests {
    private let directory = TemporaryDirectory()

    private func volume() throws -> PosixVolume {
        try PosixVolume(path: directory.path, creatingDirectory: false)
    }

    @Test func `written bytes are read back, and the size matches`() throws {
        let volume = try volume()
        let file = try volume.open("a", .create)
        #expect(try file.size() == 0)
        try file.writeFully([1, 2, 3, 4, 5], at: 0)
        try file.writeFully([9, 9], at: 7)
        try file.synchronize()
        try volume.synchronizeNames()
        #expect(try file.size() == 9)
        #expect(try volume.contents(of: "a") == [1, 2, 3, 4, 5, 0, 0, 9, 9])
        #expect(try file.readFully(2, at: 3) == [4, 5])
    }

    @Test func `a read past the end returns no bytes, and a full read past it fails`() throws {
        let file = try volume().open("a", .create)
        try file.writeFully([1, 2, 3], at: 0)
        var buffer = [UInt8](repeating: 0, count: 8)
        let counts = try [0, 2, 3, 100].map { offset in
            try buffer.withUnsafeMutableBytes { try file.read(into: $0, at: offset) }
        }
        #expect(counts == [3, 1, 0, 0])
        #expect(
            code { _ = try file.readFully(4, at: 0) } == .unexpectedEnd)
        #expect(code { _ = try file.readAll(limit: 2) } == .tooLarge)
    }

    @Test func `truncation shortens a file or extends it with zeros`() throws {
        let volume = try volume()
        let file = try volume.open("a", .create)
        try file.writeFully([1, 2, 3], at: 0)
        try file.truncate(to: 1)
        try file.truncate(to: 3)
        #expect(try volume.contents(of: "a") == [1, 0, 0])
        #expect(code { try file.truncate(to: -1) } == .invalidName)
    }

    @Test func `a listing contains the current names, including links and directories`() throws {
        let volume = try volume()
        #expect(try volume.names() == [])
        for name in ["a", "b", "c"] { try volume.write([1], to: name) }
        #expect(mkdir(directory.path("d"), 0o755) == 0)
        #expect(symlink("a", directory.path("link")) == 0)
        try volume.write([2], to: "x")
        try volume.rename("x", to: "a")
        try volume.remove("b")
        #expect(try volume.names().sorted() == ["a", "c", "d", "link"])
        #expect(try volume.contents(of: "a") == [2])
    }

    @Test func `a listing of thousands of names is complete`() throws {
        let volume = try volume()
        for number in 0..<3_000 { try volume.open("\(number)", .create).close() }
        #expect(try Set(volume.names()) == Set((0..<3_000).map { "\($0)" }))
        #expect(try volume.names().count == 3_000)
    }

    @Test func `calls on a missing file fail`() throws {
        let volume = try volume()
        let attempts: [(String, () throws -> Void)] = [
            ("read", { _ = try volume.open("a", .read) }),
            ("write", { _ = try volume.open("a", .write) }),
            ("rename", { try volume.rename("a", to: "b") }),
            ("remove", { try volume.remove("a") }),
        ]
        for (name, attempt) in attempts {
            #expect(code(attempt) == .noSuchFile, "\(name)")
        }
        let missing = directory.path("missing")
        #expect(
            code {
                _ = try PosixVolume(path: missing, creatingDirectory: false)
            } == .noSuchFile)
    }

    @Test func `an existing file is not created again`() throws {
        let volume = try volume()
        try volume.write([1], to: "a")
        do {
            _ = try volume.open("a", .create)
            Issue.record("The file was created twice.")
        } catch {
            #expect(error == VolumeError(.create, "a", .exists))
        }
        #expect(try volume.contents(of: "a") == [1])
    }

    @Test func `a name never leads outside of the directory`() throws {
        // All files that these names could reach are in the temporary directory.
        try volume().write([1], to: "outside")
        let volume = try PosixVolume(path: directory.path("store"), creatingDirectory: true)
        try volume.write([2], to: "inside")
        let names = [
            "", ".", "..", directory.path("outside"), "../outside", "../store/inside", "inside/",
            "inside\0", "./inside",
        ]
        for name in names {
            for access in [FileAccess.read, .write, .create] {
                #expect(code { _ = try volume.open(name, access) } == .invalidName, "\(name)")
            }
            #expect(code { try volume.remove(name) } == .invalidName, "\(name)")
            #expect(code { try volume.rename("inside", to: name) } == .invalidName, "\(name)")
            #expect(code { try volume.rename(name, to: "new") } == .invalidName, "\(name)")
        }
        #expect(try self.volume().contents(of: "outside") == [1])
        #expect(try volume.contents(of: "inside") == [2])
        #expect(try volume.names() == ["inside"])
    }

    @Test func `a file opened for reading refuses writes`() throws {
        let volume = try volume()
        try volume.write([1], to: "a")
        let file = try volume.open("a", .read)
        #expect(code { try file.writeFully([2], at: 0) } == .closed)
        #expect(try volume.contents(of: "a") == [1])
    }

    @Test func `an open directory stays usable when it or its parent is renamed`() throws {
        let old = directory.path("parent")
        let volume = try PosixVolume(path: old + "/store", creatingDirectory: true)
        let file = try volume.open("a", .create)
        #expect(rename(old, directory.path("moved")) == 0)
        try file.writeFully([1], at: 0)
        try file.synchronize()
        try volume.write([2], to: "b")
        try volume.rename("b", to: "c")
        try volume.synchronizeNames()
        #expect(try volume.names().sorted() == ["a", "c"])
        let moved = try PosixVolume(path: directory.path("moved/store"), creatingDirectory: false)
        #expect(try moved.contents(of: "c") == [2])
    }

    @Test func `a directory is created with all its missing parents`() throws {
        for path in ["one", "two/three/four", "five/", "six//seven/"] {
            for _ in 0..<2 {
                let volume = try PosixVolume(path: directory.path(path), creatingDirectory: true)
                #expect(try volume.names() == [], "\(path)")
            }
        }
        try volume().write([1], to: "file")
        for path in ["file", "file/below"] {
            let code = code {
                _ = try PosixVolume(path: directory.path(path), creatingDirectory: true)
            }
            #expect(code?.rawValue == ENOTDIR, "\(path)")
        }
    }

    @Test func `a directory is created with up to 100 missing parents`() throws {
        let longest = Array(repeating: "d", count: 101)
        let code = code {
            _ = try PosixVolume(
                path: directory.path((longest + ["d"]).joined(separator: "/")),
                creatingDirectory: true)
        }
        #expect(code == .noSuchFile)
        #expect(try volume().names() == [])
        let path = directory.path(longest.joined(separator: "/"))
        #expect(try PosixVolume(path: path, creatingDirectory: true).names() == [])
    }

    @Test func `no file is created in a deleted directory, whose open files stay usable`() throws {
        let path = directory.path("store")
        let volume = try PosixVolume(path: path, creatingDirectory: true)
        let file = try volume.open("a", .create)
        try volume.remove("a")
        #expect(rmdir(path) == 0)
        try file.writeFully([1], at: 0)
        try file.synchronize()
        #expect(try file.readFully(1, at: 0) == [1])
        #expect(code { _ = try volume.open("b", .create) } == .noSuchFile)
        #expect(try volume.names() == [])
    }

    @Test func `a read-only directory can be read but not changed`() throws {
        try volume().write([1], to: "a")
        #expect(chmod(directory.path, 0o555) == 0)
        defer { chmod(directory.path, 0o755) }
        let volume = try volume()
        #expect(try volume.contents(of: "a") == [1])
        guard geteuid() != 0 else {
            // The superuser may write anywhere; other users run the rest of the test.
            return
        }
        #expect(
            code { _ = try volume.open("b", .create) }
                == .permissionDenied)
        #expect(code { try volume.remove("a") } == .permissionDenied)
    }
}
