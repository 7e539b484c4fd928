import SheafBytes
import SheafStorage
import SheafTestSupport
import Testing

/// Tests of the files of a backup: their bytes, what is shared, omitted, reported and removed.
@Suite struct BackupFileTests {
    private let directory = TemporaryDirectory()
    private let store: StoreEngine
    private let files: any Volume
    /// The lengths of the attachments of the store; the longest one has three slices.
    private let attachments = [
        "a.whole": 0, "b.whole": 1, "c.whole": 1 << 20, "d.whole": 2 << 20 | 5,
    ]

    init() throws {
        let store = try StoreEngine(
            opening: try PosixVolume(path: directory.path("store"), creatingDirectory: true),
            options: SmallStore.options(seed: 9))
        var content = SmallStore.Content()
        for number in 1...9 { try SmallStore.commit(number, to: store, &content) }
        store.compactEverything()
        while try store.compactionStep() {}
        try store.writeCheckpoint()
        for number in 10...16 { try SmallStore.commit(number, to: store, &content) }
        let files = try #require(
            try store.volume.directory(FileName.attachmentsName, creating: true))
        for (name, length) in attachments {
            let file = try files.open(name, .create)
            try Self.bytes(length).withUnsafeBytes { try file.writeFully($0, at: 0) }
            file.close()
        }
        let part = try files.open("e.part", .create)
        part.close()
        (self.store, self.files) = (store, files)
    }

    /// Returns bytes that differ at the ends of slices.
    private static func bytes(_ length: Int) -> [UInt8] {
        var bytes = [UInt8](repeating: 7, count: length)
        for (index, offset) in [0, 1 << 20 - 1, 1 << 20, 2 << 20, length - 1].enumerated()
        where bytes.indices.contains(offset) {
            bytes[offset] = UInt8(index + 1)
        }
        return bytes
    }

    /// Checks by which an attachment is damaged if its first byte is 255.
    private static func checks(referenced: Set<String>) -> AttachmentChecks {
        AttachmentChecks(
            isComplete: { $0.hasSuffix(".whole") },
            finding: { (name, volume, proceed) throws(StorageError) -> Finding? in
                try proceed()
                guard let file = try? volume.open(name, .read) else { return nil }
                defer { file.close() }
                var first: [UInt8] = [0]
                first.withUnsafeMutableBytes { buffer in
                    // An empty file has no first byte.
                    _ = try? file.readFully(into: buffer, at: 0)
                }
                guard first == [255] else { return nil }
                return Finding(.damage, "attachments/\(name)", at: 0, "bad")
            }, referenced: { names, _ in names.intersection(referenced) })
    }

    private func backUp(
        to name: String, since earlier: String? = nil, referenced: Set<String> = [],
        onProgress: @escaping (CopyProgress) throws(StorageError) -> Void = { _ in }
    ) throws(StorageError) -> CopyReport {
        let (engine, random) = (store, SeededSource(seed: 77))
        return try BackupWriter.write(
            BackupSource(volume: engine.volume) { engine.snapshot() }, at: engine.volume.path,
            to: directory.path(name), since: earlier.map { directory.path($0) },
            BackupWriter.Options(
                random: { random.next() }, attachments: Self.checks(referenced: referenced),
                onProgress: onProgress))
    }

    private func volume(_ name: String) throws -> PosixVolume {
        try PosixVolume(path: directory.path(name), creatingDirectory: false)
    }

    private func length(_ name: String, in volume: any Volume) throws -> Int {
        let file = try volume.open(name, .read)
        defer { file.close() }
        return try file.size()
    }

    /// Returns the lengths of the files of a backup, except marks and the lock.
    private func lengths(of backup: String) throws -> [String: Int] {
        var found: [String: Int] = [:]
        let volume = try volume(backup)
        for name in try volume.names() {
            switch FileName(name) {
            case .segment, .base, .checkpoint: found[name] = try length(name, in: volume)
            default: break
            }
        }
        let inner = try #require(try volume.directory("attachments", creating: false))
        for name in try inner.names() { found[name] = try length(name, in: inner) }
        return found
    }

    private func content(_ name: String, of backup: String) throws -> [UInt8] {
        let inner = try volume(backup + "/attachments")
        var bytes = [UInt8](repeating: 0, count: try length(name, in: inner))
        let file = try inner.open(name, .read)
        defer { file.close() }
        try bytes.withUnsafeMutableBytes { try file.readFully(into: $0, at: 0) }
        return bytes
    }

    private func write(_ byte: UInt8, at offset: Int, to name: String, in volume: any Volume)
        throws
    {
        let file = try volume.open(name, .write)
        defer { file.close() }
        try [byte].withUnsafeBytes { try file.writeFully($0, at: offset) }
    }

    @Test func `a backup reports each slice that it copies, and each file`() throws {
        var steps: [CopyProgress] = []
        let report = try backUp(to: "new") { progress throws(StorageError) in
            steps.append(progress)
        }
        let found = try lengths(of: "new")
        let total = found.values.reduce(0, +)
        #expect(report.commit == 16)
        #expect(report.copiedFiles == found.count && report.copiedBytes == total)
        #expect(report.sharedFiles == 0 && report.sharedBytes == 0)
        let checkpoints = found.keys.filter { $0.hasSuffix(".checkpoint") }
        #expect(checkpoints.count == 1)
        let last = try #require(steps.last)
        #expect(last.phase == .verifying && last.doneBytes == total && last.totalBytes == total)
        let done = steps.map(\.doneBytes)
        let slices = zip(done.dropFirst(), done).map { $0 - $1 }
        let whole = slices.filter { $0 == 1 << 20 }
        #expect(whole.count == 3 && slices.contains(5))
        #expect(slices.min() == 0 && slices.max() == 1 << 20)
        for (name, length) in attachments {
            #expect(found[name] == length)
            #expect(try content(name, of: "new") == Self.bytes(length))
        }
        #expect(found["e.part"] == nil)
    }

    @Test func `a backup has a mark of its commit, and one of its site`() throws {
        _ = try backUp(to: "new")
        let volume = try volume("new")
        var closed: [CommitID] = []
        var sites: [String] = []
        for name in try volume.names() {
            if case .closedMark(let commit) = FileName(name) { closed.append(commit) }
            if case .siteMark = FileName(name) { sites.append(name) }
        }
        #expect(closed == [16] && sites.count == 1)
        let site = try #require(sites.first)
        #expect(try length(site, in: volume) == 16)
        #expect(try length(FileName.name(ofClosedMark: 16), in: volume) == 0)
    }

    @Test func `all files but the last segment are shared with an earlier backup`() throws {
        _ = try backUp(to: "one")
        let before = try lengths(of: "one")
        var steps: [CopyProgress] = []
        let report = try backUp(to: "two", since: "one") { progress throws(StorageError) in
            steps.append(progress)
        }
        let total = before.values.reduce(0, +)
        #expect(try lengths(of: "two") == before)
        #expect(report.copiedFiles == 1 && report.sharedFiles == before.count - 1)
        let last = before.keys.filter { $0.hasSuffix(".log") }.max() ?? ""
        #expect(report.copiedBytes == before[last])
        #expect(report.sharedBytes == total - report.copiedBytes)
        #expect(steps.last?.doneBytes == total && steps.last?.totalBytes == total)
    }

    @Test func `attachments that are damaged or longer in the earlier backup are copied`() throws {
        _ = try backUp(to: "one")
        let earlier = try volume("one/attachments")
        try write(255, at: 0, to: "b.whole", in: earlier)
        try write(9, at: 1 << 20, to: "c.whole", in: earlier)
        let report = try backUp(to: "two", since: "one")
        #expect(report.copiedFiles == 3 && report.omittedAttachments == [])
        for (name, length) in attachments {
            #expect(try content(name, of: "two") == Self.bytes(length), "\(name)")
        }
        #expect(try content("b.whole", of: "one") == [255])
    }

    @Test func `a damaged attachment is left out, unless a document references it`() throws {
        try write(255, at: 0, to: "c.whole", in: files)
        var steps: [CopyProgress] = []
        let report = try backUp(to: "new", referenced: ["b.whole"]) {
            progress throws(StorageError) in
            steps.append(progress)
        }
        let finding = Finding(.damage, "attachments/c.whole", at: 0, "bad")
        #expect(report.omittedAttachments == [finding])
        let found = try lengths(of: "new")
        #expect(found["c.whole"] == nil && found["d.whole"] == 2 << 20 | 5)
        #expect(report.copiedFiles == found.count)
        #expect(report.copiedBytes == found.values.reduce(0, +))
        let last = try #require(steps.last)
        #expect(last.doneBytes == last.totalBytes)
        #expect(last.totalBytes == report.copiedBytes + 1 << 20)
        let damage = StorageError.Damage(file: "attachments/c.whole", offset: 0, reason: "bad")
        #expect(throws: StorageError.corrupt(damage)) {
            _ = try backUp(to: "other", referenced: ["b.whole", "c.whole"])
        }
        let names = try volume(".").names().sorted()
        #expect(names == ["new", "store"])
    }

    @Test func `only directories with the names of unfinished backups are removed`() throws {
        let digits = "09afdec812345678"
        let unfinished = ["a", "", "a.b"].map { "\($0).\(digits).unfinished" }
        let others = [
            "\(digits).unfinished", "a.\(digits)0.unfinished", "a.9afdec812345678.unfinished",
            "a.09afdec81234567g.unfinished", "a.09afdec81234567F.unfinished",
            "a.09afdec81234567`.unfinished", "a.09afdec81234567:.unfinished",
            "a.\(digits).finished", "a.\(digits)", "a\(digits).unfinished",
        ]
        for name in unfinished + others {
            let volume = try PosixVolume(path: directory.path(name), creatingDirectory: true)
            try volume.open(FileName.name(ofSegment: 1), .create).close()
        }
        // A file that is not of a store keeps its directory.
        let kept = "b.\(digits).unfinished"
        let volume = try PosixVolume(path: directory.path(kept), creatingDirectory: true)
        for name in ["notes", FileName.name(ofSegment: 1), FileName.name(ofCheckpoint: 3)] {
            try volume.open(name, .create).close()
        }
        try volume.directory("attachments", creating: true)?.open("a.whole", .create).close()
        _ = try backUp(to: "new")
        let names = try self.volume(".").names().sorted()
        #expect(names == (others + [kept, "new", "store"]).sorted())
        #expect(try volume.names() == ["notes"])
    }
}
