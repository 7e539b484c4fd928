import SheafStorage
import SheafTestSupport
import Testing

@Suite struct InspectionSalvagerTests {
    private let seed: UInt64 = 23
    /// The first offset of a sample of bytes, another one in each run.
    private var start: Int {
        let start = Int.random(in: 0..<97)
        print("salvages from offset \(start)")
        return start
    }

    @Test func `an intact store is salvaged completely`() throws {
        let (files, content) = try SmallStore.small(seed: seed)
        let (report, payloads) = try salvage(files)
        #expect(report.isComplete && report.damagedRanges.isEmpty && report.notes.isEmpty)
        #expect(payloads == content.payloads)
        #expect(report.keptKeyCount == content.payloads.count)
        #expect(report.lastCommit == content.lastCommit)
    }

    @Test func `after any changed byte, keys with an intact newest record keep their payload`()
        throws
    {
        let origins = try Origins(try SmallStore.small(seed: seed).files)
        var random = SeededRandom(seed: seed, "flips")
        let start = start
        for (name, bytes) in origins.files.sorted(by: { $0.key < $1.key }) {
            let step = name.hasSuffix(".checkpoint") ? 97 : 3
            for offset in stride(from: start % step, to: bytes.count, by: step) {
                var changed = origins.files
                changed[name]?[offset] ^= 1 << UInt8(random.below(8))
                let (report, payloads) = try salvage(changed, verifies: offset % 16 == 0)
                let broken = origins.check(payloads) { $0 == name && $1.contains(offset) }
                #expect(broken == [], "seed \(seed): \(name):\(offset)")
                let isSame = payloads == origins.payloads
                #expect(isSame || !report.isComplete, "seed \(seed): \(name):\(offset) \(report)")
                #expect(isSame || !report.damagedRanges.isEmpty)
            }
        }
    }

    @Test func `after any truncation, keys with an intact newest record keep their payload`()
        throws
    {
        let origins = try Origins(try SmallStore.small(seed: seed).files)
        let start = start
        for (name, bytes) in origins.files.sorted(by: { $0.key < $1.key }) {
            let step = name.hasSuffix(".checkpoint") ? 97 : 3
            for length in stride(from: start % step, to: bytes.count, by: step) {
                var changed = origins.files
                changed[name] = Array(bytes[..<length])
                let (_, payloads) = try salvage(changed, verifies: length % 16 == 0)
                let broken = origins.check(payloads) { $0 == name && $1.upperBound > length }
                #expect(broken == [], "seed \(seed): \(name) cut to \(length)")
            }
        }
    }

    @Test func `without one of the files, the keys of the other files are kept`() throws {
        let origins = try Origins(try SmallStore.small(seed: seed).files)
        for name in origins.files.keys.sorted() {
            var changed = origins.files
            changed[name] = nil
            let (report, payloads) = try salvage(changed)
            #expect(origins.check(payloads) { file, _ in file == name } == [], "without \(name)")
            let isHarmless = name.hasSuffix(".checkpoint") || name.hasSuffix(".closed")
            #expect(report.isComplete == isHarmless, "without \(name): \(report)")
        }
    }

    @Test func `renamed files are identified by their content`() throws {
        let origins = try Origins(try SmallStore.small(seed: seed).files)
        let names = origins.files.keys.filter { $0.hasSuffix(".log") }.sorted()
        for first in names.indices {
            for second in names.indices where second > first {
                var changed = origins.files
                changed[names[first]] = origins.files[names[second]]
                changed[names[second]] = origins.files[names[first]]
                let (report, payloads) = try salvage(changed)
                #expect(payloads == origins.payloads && report.isComplete)
            }
        }
    }

    @Test func `the store ID of files without headers is derived or passed by the caller`() throws {
        let origins = try Origins(try SmallStore.small(seed: seed).files)
        var changed = origins.files.filter { !$0.value.isEmpty }
        for name in changed.keys { changed[name]?[119] ^= 1 }
        let (_, payloads) = try salvage(changed)
        #expect(payloads == origins.payloads)

        for name in changed.keys {
            changed[name]?.replaceSubrange(16..<32, with: repeatElement(7, count: 16))
        }
        #expect(throws: StorageError.self) { try salvage(changed) }
        let store = try LogReader(SimulatedVolume(files: origins.files)).store
        #expect(try salvage(changed, store: store).payloads == origins.payloads)
    }

    @Test func `the valid records of a multi-record commit are kept`() throws {
        let volume = SimulatedVolume()
        var options = SmallStore.options(seed: seed)
        options.recordLength = 200
        let engine = try StoreEngine(opening: volume, options: options)
        var batch = WriteBatch()
        for number in 10...29 {
            try batch.put(Array("key\(number)".utf8), Array(repeating: 65, count: 50))
        }
        _ = try engine.append(batch)
        try engine.close()
        let origins = try Origins(volume.snapshotFiles())
        #expect(origins.files.count > 2)
        let start = start
        for (name, bytes) in origins.files.sorted(by: { $0.key < $1.key }) {
            for offset in stride(from: start % 3, to: bytes.count, by: 3) {
                var changed = origins.files
                changed[name]?[offset] ^= 0x10
                let (report, payloads) = try salvage(changed, verifies: offset % 16 == 0)
                #expect(origins.check(payloads) { $0 == name && $1.contains(offset) } == [])
                #expect(report.isComplete == (payloads == origins.payloads), "\(name):\(offset)")
                #expect(report.isComplete == (report.incompleteCommitCount == 0))
            }
        }
    }

    @Test func `files that a damaged base file replaced are read if they still exist`() throws {
        let volume = SimulatedVolume(seed: seed)
        let options = SmallStore.options(seed: seed)
        let engine = try StoreEngine(opening: volume, options: options)
        var expected: [String: String] = [:]
        for number in 10...29 {
            expected["key\(number)"] = "payload \(number)"
            var batch = WriteBatch()
            try batch.put(Array("key\(number)".utf8), Array("payload \(number)".utf8))
            _ = try engine.append(batch)
            try engine.flush()
        }
        let before = volume.snapshotFiles()
        engine.compactEverything()
        while try engine.compactionStep() {}
        try engine.close()
        let after = volume.snapshotFiles()
        let base = try #require(after.keys.first { $0.hasSuffix(".base") })
        guard case .base(let segments) = FileName(base) else {
            Issue.record("\(base) is no base file")
            return
        }
        // A crash can leave the replaced files beside the base file.
        let replaced = before.filter { file in
            if case .segment(let number) = FileName(file.key) {
                segments.contains(number)
            } else {
                false
            }
        }
        #expect(!replaced.isEmpty)
        let note = "read although a base file replaced it"

        let intact = try salvage(after.merging(replaced) { kept, _ in kept })
        #expect(intact.report.isComplete && intact.report.notes.isEmpty)
        #expect(intact.payloads == expected)

        var damaged = after
        // The first record of the base file begins at 128 and has the compacted operations.
        damaged[base]?[128 + 80] ^= 0x10
        let alone = try salvage(damaged)
        #expect(alone.report.hasLostCompactedOperations && alone.payloads.count < expected.count)
        let restored = try salvage(damaged.merging(replaced) { kept, _ in kept })
        #expect(restored.payloads == expected)
        #expect(restored.report.keptKeyCount == expected.count)
        #expect(restored.report.notes.count { $0.contains(note) } == replaced.count)
        // Each of the replaced commits has one record.
        let statistics = try LogReader(SimulatedVolume(files: after)).statistics()
        let found = restored.report.recordCount - alone.report.recordCount
        #expect(found > 0 && found == Int(statistics.compactedThrough))
    }

    @Test func `an unreadable file loses only the keys whose newest records it has`() throws {
        let origins = try Origins(try SmallStore.small(seed: seed).files)
        let volume = SimulatedVolume(seed: seed, files: origins.files)
        volume.inject(
            SimulatedFault(.error(.inputOutput), of: .read, onFilesEndingIn: "4.log", forEver: true)
        )
        let target = SimulatedVolume()
        let report = try Salvager.salvage(volume, into: target)
        #expect(!report.isComplete)
        #expect(report.notes.contains { $0.contains("the disk cannot read bytes up to offset") })
        let payloads = try SmallStore.payloads(in: target)
        #expect(origins.check(payloads) { file, _ in file.hasSuffix("4.log") } == [])
    }

    @Test func `a salvage refuses a target directory that is not empty`() throws {
        let (files, _) = try SmallStore.small(seed: seed)
        let target = SimulatedVolume(files: ["note": [1]])
        #expect(throws: StorageError.notEmpty(path: "simulation")) {
            try Salvager.salvage(SimulatedVolume(files: files), into: target)
        }
        #expect(target.snapshotFiles() == ["note": [1]])
    }

    /// Salvages these files; verifies that the resulting store has no findings.
    private func salvage(
        _ files: [String: [UInt8]], store: StoreID? = nil, verifies: Bool = true
    ) throws -> (report: SalvageReport, payloads: [String: String]) {
        let source = SimulatedVolume(files: files)
        let target = SimulatedVolume()
        // Default-length segments are slow, because they are filled with zeros in advance.
        var options = LogStoreOptions()
        options.segmentLength = 8_192
        let report = try Salvager.salvage(source, into: target, store: store, options: options)
        #expect(source.snapshotFiles() == files)
        // The outputs differ little between the cases, so verifying a sample suffices.
        if verifies { #expect(try Verifier.verify(target).findings == []) }
        return (report, try SmallStore.payloads(in: target))
    }
}

/// The records of each key's newest state in a store, and all payloads the key ever had.
private struct Origins {
    private struct Origin {
        /// The files and ranges of the records that make up the newest state.
        var records: [(file: String, bytes: Range<Int>)]
        /// The payloads, joined.
        var payload: String?
    }

    let files: [String: [UInt8]]
    private var newest: [String: Origin] = [:]
    private var history: [String: Set<String>] = [:]

    init(_ files: [String: [UInt8]]) throws {
        self.files = files
        let reader = try LogReader(SimulatedVolume(files: files))
        var commits = reader.commits()
        while let commit = try commits.next() {
            for logged in try commit.operations() {
                record(logged, isCompacted: commit.isCompacted)
            }
        }
    }

    /// The expected payload of each key.
    var payloads: [String: String] { newest.compactMapValues(\.payload) }

    /// Returns the keys with an unexpected payload although their records were not hit, and the
    /// keys with a payload that they never had.
    func check(
        _ found: [String: String], isHit: (_ file: String, _ record: Range<Int>) -> Bool
    ) -> [String] {
        let wrong = newest.filter { key, origin in
            found[key] != origin.payload && !origin.records.contains { isHit($0.file, $0.bytes) }
        }
        let invented = found.filter { history[$0.key]?.contains($0.value) != true }
        return (wrong.map(\.key) + invented.map(\.key)).sorted()
    }

    private mutating func record(_ logged: LoggedOperation, isCompacted: Bool) {
        let key = String(decoding: logged.operation.key, as: UTF8.self)
        let payload = String(decoding: logged.operation.payload, as: UTF8.self)
        let number = String(logged.position.segment)
        let name = String(repeating: "0", count: 10 - number.count) + number
        // A small store has one base file with one compacted record.
        let file =
            isCompacted ? files.keys.first { $0.hasSuffix(".base") } ?? "" : name + ".log"
        let start = isCompacted ? 128 : logged.position.offset - logged.operation.distance
        let length = (files[file] ?? [])[(start + 8)..<(start + 12)].reversed()
            .reduce(0) { $0 << 8 | Int($1) }
        var origin = Origin(
            records: [(file, start..<start + length)],
            payload: logged.operation.kind == .remove ? nil : payload)
        if logged.operation.kind == .delta, let before = newest[key] {
            origin.records += before.records
            origin.payload = (before.payload ?? "") + payload
        }
        newest[key] = origin
        if let payload = origin.payload { history[key, default: []].insert(payload) }
    }
}
