import SheafBytes
import SheafStorage
import SheafTestSupport
import Testing

/// Comparison with `Tests/FormatReader`, a Python reader written from `format-spec`.
///
/// The reader needs python3 and libxxhash.so.0; the command in README.md installs both.
@Suite struct FormatReaderTests {
    private static func hex(_ bytes: [UInt8]) -> String {
        bytes.map { $0 < 16 ? "0" + String($0, radix: 16) : String($0, radix: 16) }.joined()
    }

    /// Returns the lines that the reader prints for these keys.
    private static func lines(_ contents: [String: [[UInt8]]]) -> [String] {
        contents.map { key, payloads in
            payloads.reduce(hex(Array(key.utf8))) { line, payload in
                let digits = String(payload.withUnsafeBytes { XXH3.hash64($0) }, radix: 16)
                let hash = String(repeating: "0", count: 16 - digits.count) + digits
                return "\(line) \(payload.count) \(hash)"
            }
        }.sorted()
    }

    /// Writer of commits of all shapes, and of the lines that the reader must print for them.
    private struct Writer {
        let store: LogStore
        var random = SeededRandom(seed: 42)
        var written: [String] = []
        private var present: Set<[UInt8]> = []

        init(store: LogStore) {
            self.store = store
        }

        mutating func commit(_ number: Int) async throws {
            var batch = WriteBatch()
            var line = ""
            // Every tenth commit is longer than a segment.
            let count = number % 10 == 0 ? 60 : 1 + random.below(4)
            for _ in 0..<count {
                let key = Array("key \(random.below(40))".utf8)
                let draw = random.below(10)
                if draw < 2 {
                    try batch.remove(key)
                    present.remove(key)
                    line += " remove:\(hex(key))"
                } else if draw < 6, present.contains(key) {
                    let payload = random.bytes(random.below(50))
                    try batch.extend(key, payload)
                    line += " delta:\(hex(key)):\(payload.count)"
                } else {
                    let payload = random.bytes(random.below(150))
                    try batch.put(key, payload)
                    present.insert(key)
                    line += " put:\(hex(key)):\(payload.count)"
                }
            }
            let commit = try store.append(batch)
            try await store.waitForDurability(of: commit)
            written.append("commit \(commit)" + line)
        }
    }

    @Test func `the reader finds the commits and keys of a closed store`() async throws {
        let directory = TemporaryDirectory()
        var options = LogStoreOptions()
        options.segmentLength = 4_096
        options.recordLength = 512
        options.history = HistoryHorizon(commits: 25, bytes: 1 << 30)
        options.checkpointLength = 1 << 30
        options.runsMaintenance = false
        let store = try LogStore.open(at: directory.path, options: options)
        var writer = Writer(store: store)
        for number in 1...60 { try await writer.commit(number) }
        try store.engine.writeCheckpoint()
        store.engine.compactEverything()
        while try store.engine.compactionStep() {}
        for number in 61...90 { try await writer.commit(number) }
        try store.engine.writeCheckpoint()
        let snapshot = store.snapshot()
        let bases = snapshot.segments.files.filter { $0.header.kind == .base }
        let logs = snapshot.segments.files.filter { $0.header.kind == .log }
        let expected = Self.lines(try FormatVectorFiles.contents(snapshot))
        try store.close()
        #expect(bases.count >= 1 && logs.count >= 5)

        let run = try FormatReaderRun(directory.path)
        #expect(run.status == 0, "\(run.errors)")
        #expect(run.keys == expected)
        // Base files contain the newest compacted state only; all later commits are complete.
        let last = Int(bases.last?.footer?.lastCommit ?? 0)
        #expect(run.commits == Array(writer.written[last...]))
        for base in bases {
            let start = "compaction \(base.name) through \(base.header.compactedThrough) "
            #expect(run.lines.contains { $0.hasPrefix(start) }, "\(start)")
        }
        #expect(
            run.lines.filter { $0.hasPrefix("checkpoint ") && $0.hasSuffix(" right") }.count == 2)
        try expectDamageIsFound(in: directory.path)
    }

    /// Flips one bit in each log and base file, and verifies that the reader reports it.
    private func expectDamageIsFound(in path: String) throws {
        let files = try SimulatedVolume(importing: path).snapshotFiles()
        for (name, bytes) in files where name.hasSuffix(".log") || name.hasSuffix(".base") {
            var damaged = files
            damaged[name]?[bytes.count / 2] ^= 4
            let run = try FormatReaderRun(damaged)
            #expect(run.status == 3, "\(name)")
            #expect(run.errors.hasPrefix("\(name):"), "\(name): \(run.errors)")
        }
    }

    @Test func `the reader finds the documented content of the vector store`() throws {
        let files = try FormatVectorFiles().files
        let contents = try FormatVectors("contents.txt")
        let expected = try FormatVectorFiles.expected(contents, after: 9)
        let run = try FormatReaderRun(files)
        #expect(run.status == 0, "\(run.errors)")
        #expect(run.keys == Self.lines(expected))
        #expect(run.commits.map { $0.split(separator: " ")[1] } == ["6", "7", "8", "9"])
    }

    @Test func `the reader opens or refuses changed files as documented`() throws {
        let files = try FormatVectorFiles().files
        let damage = try FormatVectors("damage.txt")
        for name in damage.cases {
            let run = try FormatReaderRun(try damage.changing(files, in: name))
            if damage.has("\(name).commit") {
                let commit = "commit \(try damage.number("\(name).commit"))"
                #expect(run.status == 0, "\(name): \(run.errors)")
                #expect(run.commits.last?.hasPrefix(commit + " ") ?? false, "\(name)")
                continue
            }
            let isCorrupt = damage.has("\(name).corrupt")
            #expect(run.status == (isCorrupt ? 3 : 4), "\(name): \(run.errors)")
            // The reader knows only the names of checkpoints, so it may report another file.
            if name.hasSuffix("-checkpoint") { continue }
            let file = try damage.text(isCorrupt ? "\(name).corrupt" : "\(name).unsupported")
            #expect(run.errors.hasPrefix("\(file):"), "\(name): \(run.errors)")
        }
    }
}
