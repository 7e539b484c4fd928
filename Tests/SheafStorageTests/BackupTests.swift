import SheafStorage
import SheafTestSupport
import Testing

/// Backups of stores that are in use, on the file system of the machine.
struct BackupTests {
    private let directory = TemporaryDirectory()

    private func options() -> LogStoreOptions {
        var options = SmallStore.options(seed: 9)
        options.random = { UInt64.random(in: 0...(.max)) }
        return options
    }

    private func open(_ name: String) throws -> StoreEngine {
        try StoreEngine(
            opening: try PosixVolume(path: directory.path(name), creatingDirectory: true),
            options: options())
    }

    @discardableResult
    private func backUp(
        _ store: StoreEngine, to name: String, since earlier: String? = nil,
        _ snapshot: LogSnapshot? = nil,
        onProgress: @escaping (CopyProgress) throws(StorageError) -> Void = { _ in }
    ) throws -> CopyReport {
        let source = BackupSource(volume: store.volume) { snapshot ?? store.snapshot() }
        return try BackupWriter.write(
            source, at: store.volume.path, to: directory.path(name),
            since: earlier.map { directory.path($0) },
            BackupWriter.Options(
                random: { UInt64.random(in: 0...(.max)) }, attachments: .none,
                onProgress: onProgress))
    }

    private func payloads(_ name: String) throws -> [String: String] {
        try SmallStore.payloads(
            in: try PosixVolume(path: directory.path(name), creatingDirectory: false))
    }

    private func names(_ name: String) throws -> [String] {
        try PosixVolume(path: directory.path(name), creatingDirectory: false).names().sorted()
    }

    private func refusal(_ body: () throws -> Void) -> String {
        do {
            try body()
            return "nothing was refused"
        } catch {
            return "\(error)"
        }
    }

    @Test func `a backup has the commits of its snapshot and none after it`() throws {
        let store = try open("store")
        var content = SmallStore.Content()
        for number in 1...20 {
            try SmallStore.commit(number, to: store, &content)
            let snapshot = store.snapshot()
            let expected = content.payloads
            var later = content
            // Commits that follow in the same segment and in later ones are not copied.
            for next in 0..<(number % 4) {
                try SmallStore.commit(100 + number + next, to: store, &later)
            }
            content = later
            let report = try backUp(store, to: "backup\(number)", snapshot)
            #expect(report.commit == snapshot.commit)
            #expect(report.sharedFiles == 0)
            let volume = try PosixVolume(
                path: directory.path("backup\(number)"), creatingDirectory: false)
            let result = try Verifier.verify(volume)
            #expect(result.lastCommit == snapshot.commit)
            #expect(result.findings.filter { $0.severity != .note }.isEmpty)
            #expect(try payloads("backup\(number)") == expected)
        }
        try store.close()
    }

    @Test func `a snapshot whose files compaction has removed can still be copied`() throws {
        let store = try open("store")
        var content = SmallStore.Content()
        for number in 1...20 { try SmallStore.commit(number, to: store, &content) }
        let snapshot = store.snapshot()
        let expected = content.payloads
        let before = try names("store")
        for number in 21...40 { try SmallStore.commit(number, to: store, &content) }
        store.compactEverything()
        while try store.compactionStep() {}
        #expect(!Set(before).isSubset(of: try names("store")))
        try backUp(store, to: "backup", snapshot)
        #expect(try payloads("backup") == expected)
        try store.close()
    }

    @Test func `compaction and commits during a backup do not change it`() throws {
        let store = try open("store")
        var content = SmallStore.Content()
        for number in 1...20 { try SmallStore.commit(number, to: store, &content) }
        let expected = content.payloads
        var number = 100
        var isCompacted = false
        try backUp(store, to: "backup") { progress throws(StorageError) in
            do {
                number += 1
                try SmallStore.commit(number, to: store, &content)
                guard !isCompacted else { return }
                isCompacted = true
                store.compactEverything()
                while try store.compactionStep() {}
            } catch {
                Issue.record("\(error)")
            }
        }
        #expect(number > 105)
        #expect(try payloads("backup") == expected)
        try store.close()
    }

    @Test func `each of a chain of backups is complete after the others are changed`() throws {
        let store = try open("store")
        var content = SmallStore.Content()
        var expected: [[String: String]] = []
        var shared = 0
        for generation in 0..<5 {
            for number in 1...15 {
                try SmallStore.commit(generation * 100 + number, to: store, &content)
            }
            let earlier = generation > 0 ? "backup\(generation - 1)" : nil
            let report = try backUp(store, to: "backup\(generation)", since: earlier)
            shared += report.sharedFiles
            if generation > 0 {
                #expect(report.sharedFiles > 0)
                #expect(report.copiedBytes < report.sharedBytes + report.copiedBytes)
            }
            expected.append(content.payloads)
        }
        #expect(shared > 20)
        try store.close()
        // Opening a backup for writing, new commits and compaction change its files only.
        for changed in [3, 1, 4, 0] {
            let backup = try open("backup\(changed)")
            var own = SmallStore.Content()
            own.payloads = expected[changed]
            for number in 1...20 { try SmallStore.commit(900 + number, to: backup, &own) }
            backup.compactEverything()
            while try backup.compactionStep() {}
            try backup.close()
            expected[changed] = own.payloads
            for generation in 0..<5 {
                let volume = try PosixVolume(
                    path: directory.path("backup\(generation)"), creatingDirectory: false)
                let result = try Verifier.verify(volume)
                #expect(!result.isDamaged, "\(generation): \(result.findings)")
            }
        }
        for generation in 0..<5 {
            #expect(try payloads("backup\(generation)") == expected[generation])
        }
    }

    @Test func `the last log segment of a backup is never shared, even a sealed one`() throws {
        var store = try open("store")
        var content = SmallStore.Content()
        for number in 1...12 { try SmallStore.commit(number, to: store, &content) }
        try store.close()
        store = try open("store")
        let last = try #require(store.snapshot().segments.files.last?.name)
        try backUp(store, to: "one")
        try backUp(store, to: "two", since: "one")
        for number in 13...20 { try SmallStore.commit(number, to: store, &content) }
        try backUp(store, to: "three", since: "two")
        func inode(_ backup: String, _ name: String) throws -> UInt64 {
            try PosixVolume(path: directory.path(backup), creatingDirectory: false)
                .identity(of: name)
        }
        let first = FileName.name(ofSegment: 2)
        #expect(try inode("one", first) == inode("two", first))
        #expect(try inode("one", last) != inode("two", last))
        #expect(try inode("two", last) != inode("three", last))
        try store.close()
    }

    @Test func `a backup of another store, or a damaged one, is not shared`() throws {
        let (store, other) = (try open("store"), try open("other"))
        var (content, others) = (SmallStore.Content(), SmallStore.Content())
        for number in 1...12 {
            try SmallStore.commit(number, to: store, &content)
            try SmallStore.commit(number, to: other, &others)
        }
        try backUp(other, to: "foreign")
        let text = refusal { try backUp(store, to: "new", since: "foreign") }
        #expect(text.contains("is a backup of another store"))
        try backUp(store, to: "earlier")
        let volume = try PosixVolume(path: directory.path("earlier"), creatingDirectory: false)
        let file = try volume.open(FileName.name(ofSegment: 1), .write)
        try [UInt8(0xFF)].withUnsafeBytes { try file.writeFully($0, at: 200) }
        file.close()
        let damage = refusal { try backUp(store, to: "new", since: "earlier") }
        #expect(damage.contains("make the backup without it"), "\(damage)")
        #expect(try !names(".").contains { $0.hasPrefix("new") })
        try backUp(store, to: "new")
        #expect(try payloads("new") == content.payloads)
        try store.close()
        try other.close()
    }

    @Test func `a target that is taken or inside a store is refused and unchanged`() throws {
        let store = try open("store")
        var content = SmallStore.Content()
        for number in 1...5 { try SmallStore.commit(number, to: store, &content) }
        try backUp(store, to: "backup")
        let before = try names(".")
        func refused(_ name: String) -> String { refusal { try backUp(store, to: name) } }
        #expect(refused("store").contains("itself"))
        #expect(refused("store/new").contains("is inside"))
        #expect(refused("store/attachments/../new").contains("no directory"))
        #expect(refused("backup").contains("has files in it"))
        #expect(refused("missing/new").contains("create it first"))
        #expect(refused("..").contains("names no new directory"))
        #expect(refused("store/LOCK/new").contains("no directory"))
        let child = try ChildProcess(
            "sh",
            [
                "-c",
                "cd \(directory.path) && ln -s nowhere dangling && ln -s store alias && touch file"
                    + " && mkdir empty",
            ])
        #expect(child.wait() == 0)
        #expect(refused("dangling").contains("symbolic link"))
        #expect(refused("alias").contains("symbolic link"))
        #expect(refused("alias/new").contains("is inside"))
        #expect(refused("file").contains("is not a directory"))
        let since = refusal { try backUp(store, to: "backup/new", since: "backup") }
        #expect(since.contains("is inside"))
        #expect(
            try names(".") == (before + ["alias", "dangling", "empty", "file"]).sorted())
        try backUp(store, to: "empty")
        #expect(try payloads("empty") == content.payloads)
        try store.close()
    }

    @Test func `leftovers of crashed backups are removed, and those of running ones kept`() throws {
        let store = try open("store")
        var content = SmallStore.Content()
        for number in 1...5 { try SmallStore.commit(number, to: store, &content) }
        let crashed = directory.path("old.0123456789abcdef.unfinished")
        let volume = try PosixVolume(path: crashed, creatingDirectory: true)
        try volume.open(FileName.name(ofSegment: 1), .create).close()
        try volume.directory("attachments", creating: true)?.open("a.whole", .create).close()
        _ = try PosixVolume(
            path: directory.path("notes.unfinished"), creatingDirectory: true)
        var seen: [String] = []
        var isNested = false
        try backUp(store, to: "outer") { progress throws(StorageError) in
            guard !isNested else { return }
            isNested = true
            do {
                try backUp(store, to: "inner")
                seen = try names(".")
            } catch {
                Issue.record("\(error)")
            }
        }
        #expect(seen.contains { $0.hasPrefix("outer.") && $0.hasSuffix(".unfinished") })
        #expect(try names(".") == ["inner", "notes.unfinished", "outer", "store"])
        #expect(try payloads("outer") == content.payloads)
        #expect(try payloads("inner") == content.payloads)
        try store.close()
    }

    @Test func `a canceled backup leaves nothing`() throws {
        let store = try open("store")
        var content = SmallStore.Content()
        for number in 1...5 { try SmallStore.commit(number, to: store, &content) }
        #expect(throws: StorageError.cancelled) {
            try backUp(store, to: "new") { _ throws(StorageError) in throw .cancelled }
        }
        #expect(try names(".") == ["store"])
        try store.close()
    }

    @Test func `damage in the store is reported, and no backup is made`() throws {
        var store = try open("store")
        var content = SmallStore.Content()
        for number in 1...12 { try SmallStore.commit(number, to: store, &content) }
        try store.close()
        store = try open("store")
        let volume = try PosixVolume(path: directory.path("store"), creatingDirectory: false)
        let file = try volume.open(FileName.name(ofSegment: 2), .write)
        try [UInt8(0xFF)].withUnsafeBytes { try file.writeFully($0, at: 230) }
        file.close()
        let text = refusal { try backUp(store, to: "new") }
        #expect(text.contains("the store is damaged: 0000000002.log"), "\(text)")
        #expect(try names(".") == ["store"])
        try store.close()
    }

    @Test func `the second of two backups to one name fails, and the first one remains`() throws {
        let store = try open("store")
        var content = SmallStore.Content()
        for number in 1...5 { try SmallStore.commit(number, to: store, &content) }
        var isNested = false
        let text = refusal {
            try backUp(store, to: "new") { _ throws(StorageError) in
                guard !isNested else { return }
                isNested = true
                do { try backUp(store, to: "new") } catch { Issue.record("\(error)") }
            }
        }
        #expect(text.hasPrefix("another backup or program created "), "\(text)")
        #expect(text.hasSuffix("back up to another name"), "\(text)")
        #expect(try names(".") == ["new", "store"])
        #expect(try payloads("new") == content.payloads)
        try store.close()
    }

    @Test func `a backup cannot share files with the store itself`() throws {
        let store = try open("store")
        var content = SmallStore.Content()
        for number in 1...12 { try SmallStore.commit(number, to: store, &content) }
        let text = refusal { try backUp(store, to: "new", since: "store/../store/") }
        #expect(text.hasSuffix("is the store itself; name an earlier backup of it"), "\(text)")
        #expect(try names(".") == ["store"])
        try store.close()
    }

    @Test func `a directory that cannot contain others is refused with the reason`() throws {
        let store = try open("store")
        let text = refusal {
            _ = try BackupWriter.write(
                BackupSource(volume: store.volume) { store.snapshot() }, at: store.volume.path,
                to: "/proc/new", since: nil,
                BackupWriter.Options(
                    random: { UInt64.random(in: 0...(.max)) },
                    attachments: .none))
        }
        #expect(text.hasPrefix("cannot create new."), "\(text)")
        try store.close()
    }

    @Test func `a backup beside a writer that removes attachments has a newer commit`() throws {
        let store = try open("store")
        var content = SmallStore.Content()
        for number in 1...5 { try SmallStore.commit(number, to: store, &content) }
        let attachments = try #require(
            try store.volume.directory(FileName.attachmentsName, creating: true))
        for name in ["a.whole", "b.whole"] {
            let file = try attachments.open(name, .create)
            try Array(name.utf8).withUnsafeBytes { try file.writeFully($0, at: 0) }
            file.close()
        }
        let reader = try LogReader.open(at: store.volume.path)
        try SmallStore.commit(6, to: store, &content)
        var isRemoved = false
        let report = try BackupWriter.write(
            BackupSource(reader), at: store.volume.path, to: directory.path("new"), since: nil,
            BackupWriter.Options(
                random: { UInt64.random(in: 0...(.max)) }, attachments: .none
            ) { _ throws(StorageError) in
                guard !isRemoved else { return }
                isRemoved = true
                do {
                    try SmallStore.commit(7, to: store, &content)
                    try attachments.remove("b.whole")
                } catch {
                    Issue.record("\(error)")
                }
            })
        #expect(report.commit == store.snapshot().commit)
        #expect(try payloads("new") == content.payloads)
        #expect(try names("new/attachments") == ["a.whole"])
        try store.close()
    }

    @Test func `an empty store has an empty backup`() throws {
        let store = try open("store")
        try backUp(store, to: "new")
        #expect(try payloads("new").isEmpty)
        try store.close()
    }
}
