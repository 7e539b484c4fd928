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

/// Directory entries other than regular files, under names that a store would open.
@Suite struct PosixVolumeKindTests {
    private let directory = TemporaryDirectory()

    private func volume() throws -> PosixVolume {
        try PosixVolume(path: directory.path, creatingDirectory: false)
    }

    /// Creates a named socket, which exists while the returned descriptor is open.
    private func makeSocket(_ name: String) throws -> Int32 {
        #if canImport(Glibc)
            let number = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        #else
            let number = socket(AF_UNIX, SOCK_STREAM, 0)
        #endif
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let path = Array(directory.path(name).utf8) + [0]
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path) }
        let length = socklen_t(MemoryLayout<sockaddr_un>.size)
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(number, $0, length) }
        }
        try #require(result == 0)
        return number
    }

    @Test func `opening anything but a regular file fails immediately`() throws {
        let volume = try volume()
        #expect(mkfifo(directory.path("pipe"), 0o644) == 0)
        #expect(mkdir(directory.path("directory"), 0o755) == 0)
        #expect(symlink("/dev/null", directory.path("device")) == 0)
        #expect(symlink("pipe", directory.path("link")) == 0)
        let socket = try makeSocket("socket")
        defer { _ = close(socket) }
        for name in ["pipe", "directory", "device", "link", "socket"] {
            for access in [FileAccess.read, .write] {
                do {
                    _ = try volume.open(name, access)
                    Issue.record("\(name) was opened.")
                } catch {
                    let isLink = ["device", "link"].contains(name)
                    #expect(
                        error
                            == VolumeError(.open, name, isLink ? .symbolicLink : .notARegularFile))
                }
            }
            #expect(code { _ = try volume.open(name, .create) } == .exists, "\(name)")
        }
    }

    @Test func `a pipe is refused even while its other end is open`() throws {
        #expect(mkfifo(directory.path("pipe"), 0o644) == 0)
        let end = open(directory.path("pipe"), O_RDWR)
        defer { _ = close(end) }
        for access in [FileAccess.read, .write] {
            #expect(code { _ = try self.volume().open("pipe", access) } == .notARegularFile)
        }
    }

    @Test func `a symbolic link is not followed, and the error names it`() throws {
        let volume = try volume()
        try volume.write([1], to: "a")
        for (name, target) in [("link", "a"), ("broken", "nowhere"), ("loop", "loop")] {
            #expect(symlink(target, directory.path(name)) == 0)
            for access in [FileAccess.read, .write] {
                #expect(throws: VolumeError(.open, name, .symbolicLink)) {
                    try volume.open(name, access)
                }
            }
        }
        #expect(try volume.contents(of: "a") == [1])
    }

    /// Ways to put something other than a regular file at a path.
    private static let makers: [(kind: String, make: @Sendable (String) -> Bool)] = [
        ("link to a file", { symlink("../other", $0) == 0 }),
        ("link to nowhere", { symlink("nowhere", $0) == 0 }),
        ("link to a device", { symlink("/dev/null", $0) == 0 }),
        ("pipe", { mkfifo($0, 0o644) == 0 }),
        ("directory", { mkdir($0, 0o755) == 0 }),
        // Only a superuser can create a device; 1:3 is that of /dev/null in Linux.
        ("device", { mknod($0, S_IFCHR | 0o644, 0x103) == 0 }),
    ]

    @Test func `each file of a store as anything else is refused by name, replaced or ignored`()
        throws
    {
        let names = [
            FileName.name(ofSegment: 1), FileName.name(ofSegment: 2), FileName.name(ofBase: 1...1),
            FileName.name(ofCheckpoint: 9), FileName.name(ofClosedMark: 1), FileName.lockName,
            FileName.syncedName, FileName.temporaryName(7), FileName.name(ofSiteMark: 3),
        ]
        let other = Array("a file of another program".utf8)
        try volume().write(other, to: "other")
        for (kind, make) in Self.makers {
            for name in names {
                let (path, volume) = try storeWithout(name, in: "\(kind) \(name)")
                guard make(path + "/" + name) else {
                    #expect(kind == "device", "\(kind)")
                    continue
                }
                let isLink = kind.hasPrefix("link")
                // Each opening ends, and no target of a link changes.
                _ = try? LogReader(volume).snapshot()
                let findings = try Verifier.verify(volume).findings
                do throws(StorageError) {
                    try StoreEngine(opening: volume).close()
                    let isReplaced = isLink && name == FileName.syncedName
                    let isRemoved = name == FileName.temporaryName(7) && kind != "directory"
                    let isUnread = [
                        FileName.name(ofClosedMark: 1), FileName.name(ofSiteMark: 3),
                    ].contains(name)
                    #expect(isReplaced || isRemoved || isUnread, "\(kind) \(name)")
                } catch {
                    guard case .io(let refusal) = error else {
                        Issue.record("\(kind) \(name): \(error)")
                        continue
                    }
                    #expect(refusal.file == name, "\(kind) \(name)")
                    #expect(
                        refusal.code == (isLink ? .symbolicLink : .notARegularFile),
                        "\(kind) \(name)")
                    #expect(
                        findings.contains { $0.file == name && $0.severity == .damage },
                        "\(kind) \(name): \(findings)")
                }
                #expect(try self.volume().contents(of: "other") == other, "\(kind) \(name)")
            }
        }
    }

    @Test(arguments: ["nowhere", "SYNCED", "LOCK"])
    func `a synced mark that is a symbolic link is replaced`(_ target: String) throws {
        let (path, volume) = try storeWithout(FileName.syncedName)
        let mark = path + "/" + FileName.syncedName
        if target == "existing" { try volume.write([7], to: target) }
        #expect(symlink(target, mark) == 0)
        let engine = try StoreEngine(opening: volume)
        #expect(!PosixPath.isSymbolicLink(mark))
        var batch = WriteBatch()
        try batch.put([3], [4])
        _ = try engine.append(batch)
        try engine.flush()
        #expect(try LogReader(volume).snapshot().commit == 2)
        try engine.close()
        #expect(!PosixPath.isSymbolicLink(path + "/" + target))
        if target == "existing" { #expect(try volume.contents(of: target) == [7]) }
    }

    @Test func `a file that exceeds the maximum file size is reported as a full disk`() throws {
        let file = try volume().open("a", .create)
        // Few file systems support offsets this large; on those that do, the write succeeds.
        guard let error = code({ try file.writeFully([1], at: Int.max - 1) }) else { return }
        #expect(error == .fileTooLarge && error.meansFull)
    }

    /// Creates a closed store of one commit, without the file `name`.
    private func storeWithout(
        _ name: String, in store: String? = nil
    ) throws -> (path: String, volume: PosixVolume) {
        let path = directory.path(store ?? "store \(name)")
        let volume = try PosixVolume(path: path, creatingDirectory: true)
        let engine = try StoreEngine(opening: volume)
        var batch = WriteBatch()
        try batch.put([1], [2])
        _ = try engine.append(batch)
        try engine.close()
        // Without the mark of this system, readers open all files.
        for name in [name, FileName.syncedName] { _ = unlink(path + "/" + name) }
        return (path, volume)
    }

    @Test func `opening a store with a pipe as a file fails at once and names the file`() throws {
        let names = [
            FileName.name(ofSegment: 1), FileName.name(ofSegment: 2),
            FileName.name(ofBase: 1...2), FileName.name(ofCheckpoint: 9),
        ]
        for name in names {
            let (path, volume) = try storeWithout(name)
            #expect(mkfifo(path + "/" + name, 0o644) == 0)
            let expected = StorageError.io(VolumeError(.open, name, .notARegularFile))
            #expect(throws: expected) { try StoreEngine(opening: volume) }
            #expect(throws: expected) { try LogReader(volume).statistics() }
        }
    }

    @Test func `opening fails and reports a directory with the name of a store file`()
        throws
    {
        let names = [
            FileName.name(ofSegment: 2), FileName.name(ofBase: 1...1),
            FileName.name(ofBase: 2...3), FileName.name(ofCheckpoint: 9),
            FileName.temporaryName(7), FileName.lockName,
        ]
        for name in names {
            let (path, volume) = try storeWithout(name)
            #expect(mkdir(path + "/" + name, 0o755) == 0)
            #expect {
                try StoreEngine(opening: volume)
            } throws: { error in
                guard case .io(let refusal) = error as? StorageError else { return false }
                return refusal.file == name && refusal.code == .notARegularFile
            }
            let findings = try Verifier.verify(volume).findings
            #expect(findings.contains { $0.file == name && $0.severity == .damage }, "\(findings)")
        }
    }

    @Test func `directories that are not named like store files are ignored and kept`() throws {
        let volume = try volume()
        for name in ["photos", "2.log", "lost+found"] {
            #expect(mkdir(directory.path(name), 0o755) == 0)
        }
        let engine = try StoreEngine(opening: volume)
        var batch = WriteBatch()
        try batch.put([1], [2])
        _ = try engine.append(batch)
        try engine.close()
        let result = try Verifier.verify(volume)
        #expect(!result.isDamaged)
        #expect(result.findings.map(\.file) == ["2.log", "lost+found", "photos"])
        #expect(try LogReader(volume).statistics().otherCount == 3)
    }

    @Test func `a directory is not removed as a file`() throws {
        #expect(mkdir(directory.path("directory"), 0o755) == 0)
        #expect(code { try self.volume().remove("directory") } == .notARegularFile)
        #expect(try volume().names() == ["directory"])
    }

    @Test func `a pipe with the name of a temporary file is removed`() throws {
        let volume = try volume()
        let name = FileName.temporaryName(7)
        #expect(mkfifo(directory.path(name), 0o644) == 0)
        try StoreEngine(opening: volume).close()
        #expect(try volume.names().contains(name) == false)
    }
}
