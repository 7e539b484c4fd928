import SheafBytes
import SheafStorage
import SheafTestSupport
import Testing

/// Index entries: keys of the tree that point to operations of other keys.
@Suite struct IndexEntryTests {
    private let volume = SimulatedVolume(seed: 3)
    private var engine: StoreEngine

    init() throws {
        engine = try StoreEngine(opening: volume, options: Self.options)
    }

    private static var options: LogStoreOptions {
        var options = LogStoreOptions()
        options.segmentLength = 600
        options.recordLength = 100
        options.history = HistoryHorizon(commits: 0, bytes: .max)
        return options
    }

    private static func entry(_ name: String) -> [UInt8] { [0xFF] + Array(name.utf8) }

    private func commit(
        keepingIndexProgress: Bool = true, _ fill: (inout WriteBatch) throws -> Void
    ) throws {
        var batch = WriteBatch()
        batch.keepsIndexProgress = keepingIndexProgress
        try fill(&batch)
        _ = try engine.append(batch)
        try engine.flush()
    }

    private func pointers(_ snapshot: LogSnapshot) -> [String: RecordPointer] {
        var found: [String: RecordPointer] = [:]
        snapshot.tree.forEach(in: IndexChanges.all) { key, value in
            found[String(decoding: key.dropFirst(), as: UTF8.self)] = RecordPointer(value)
            return true
        }
        return found
    }

    /// Returns the target of each index entry: its key and its payloads, newest first.
    private func contents(_ snapshot: LogSnapshot) throws -> [String: String] {
        try pointers(snapshot).mapValues { pointer in
            let operations = try snapshot.operations(at: pointer)
            let key =
                operations.first?.operation.key ?? UnsafeRawBufferPointer(start: nil, count: 0)
            #expect(snapshot.recordPointer(of: key) == pointer)
            return ([key] + operations.map(\.operation.payload)).map {
                String(decoding: $0, as: UTF8.self)
            }.joined(separator: " ")
        }
    }

    @Test func `index entries point to operations across records and segments`() throws {
        try commit { batch in
            for number in 0..<40 {
                try batch.put(Array("key \(number)".utf8), Array("payload \(number)".utf8))
                if number % 3 == 0 { try batch.addIndexEntries(Self.entry("\(number)")) }
                if number % 9 == 0 { try batch.addIndexEntries(Self.entry("\(number) again")) }
            }
        }
        let snapshot = engine.snapshot()
        #expect(snapshot.segments.files.count > 2)
        #expect(snapshot.count == 40 && snapshot.indexMark.commit == 1)
        let found = try contents(snapshot)
        #expect(found.count == 14 + 5)
        for (name, content) in found {
            let number = name.split(separator: " ")[0]
            #expect(content == "key \(number) payload \(number)")
        }
        #expect(engine.checkLiveBytes() == [])
    }

    @Test func `index entries can be moved, removed, and pointed to delta records`() throws {
        try commit { batch in
            try batch.put(Array("a".utf8), Array("1".utf8))
            try batch.addIndexEntries(Self.entry("x"))
            try batch.put(Array("b".utf8), Array("2".utf8))
            try batch.addIndexEntries(Self.entry("y"))
        }
        let old = engine.snapshot()
        try commit { batch in
            // Removals are applied before insertions.
            try batch.indexChanges.removeEntries(Self.entry("y"))
            try batch.indexChanges.removeEntries(Self.entry("x"))
            try batch.indexChanges.removeEntries(Self.entry("never there"))
            try batch.extend(Array("a".utf8), Array("+".utf8))
            try batch.addIndexEntries(Self.entry("x"))
            let pointer = Array("b".utf8).withUnsafeBytes { old.recordPointer(of: $0) }
            try batch.indexChanges.addEntry(Self.entry("z"), to: try #require(pointer))
        }
        #expect(try contents(engine.snapshot()) == ["x": "a + 1", "z": "b 2"])
        #expect(try contents(old) == ["x": "a 1", "y": "b 2"])
        try commit { batch in
            batch.indexChanges.removeEntries(in: KeyRange.prefix(Self.entry("")))
            try batch.put(Array("c".utf8), [])
        }
        #expect(pointers(engine.snapshot()).isEmpty)
        // A range that starts before all index entries removes no key.
        try commit { batch in
            batch.indexChanges.removeEntries(in: KeyRange.all)
            try batch.put(Array("c".utf8), [])
        }
        #expect(engine.snapshot().count == 3)
    }

    @Test(arguments: [0, Int.max])
    func `the last operation of a batch with an index entry gets it, with its weight`(
        minimumEntriesForSorting: Int
    ) throws {
        var options = Self.options
        options.minimumEntriesForSorting = minimumEntriesForSorting
        let engine = try StoreEngine(opening: SimulatedVolume(seed: 4), options: options)
        var batch = WriteBatch()
        try batch.put([3], [])
        batch.weigh(7)
        try batch.addIndexEntries(Self.entry("y"))
        try batch.put([1], [])
        batch.weigh(8)
        for name in ["x", "y"] { try batch.addIndexEntries(Self.entry(name)) }
        try batch.put([2], [])
        try batch.addIndexEntries(Self.entry("x"))
        _ = try engine.append(batch)
        try engine.flush()
        let snapshot = engine.snapshot()
        // An index entry has the pointer of its operation, and the weight of the key.
        for (name, key, weight) in [("x", 2, nil), ("y", 1, 8)] as [(String, UInt8, UInt64?)] {
            let entry = Self.entry(name).withUnsafeBytes { snapshot.tree.find($0) }
            let target = [key].withUnsafeBytes { snapshot.recordPointer(of: $0) }
            #expect(target != nil && entry.flatMap { RecordPointer($0) } == target, "\(name)")
            #expect(entry?.weight == weight, "\(name)")
        }
        try engine.close()
    }

    @Test func `a commit that does not maintain index entries stops the index progress`() throws {
        try commit { try $0.put([1], []) }
        try commit { try $0.put([1], []) }
        #expect(engine.snapshot().indexMark.commit == 2)
        try commit(keepingIndexProgress: false) { try $0.put([1], []) }
        try commit { try $0.put([1], []) }
        let snapshot = engine.snapshot()
        #expect(snapshot.commit == 4 && snapshot.indexMark.commit == 2)
        var changes = IndexChanges()
        let pointer = try #require([1 as UInt8].withUnsafeBytes { snapshot.recordPointer(of: $0) })
        try changes.addEntry(Self.entry("x"), to: pointer)
        #expect(engine.repairIndexEntries(of: snapshot, changes))
        #expect(engine.snapshot().indexMark.commit == 4)
        #expect(pointers(engine.snapshot()).count == 1 && pointers(snapshot).isEmpty)
        var batch = WriteBatch()
        try batch.put([1], [])
        _ = try engine.append(batch)
        #expect(!engine.repairIndexEntries(of: engine.snapshot(), changes))
    }

    @Test func `checkpoints store index entries and the index progress`() throws {
        func reopened(_ body: (LogSnapshot) throws -> Void) throws {
            let again = try StoreEngine(
                opening: volume.processDeath(seed: 1), options: Self.options)
            try body(again.snapshot())
        }
        try commit { batch in
            try batch.put([1], [])
            try batch.addIndexEntries(Self.entry("x"))
        }
        try reopened { #expect($0.indexMark == .none && pointers($0).isEmpty) }
        try engine.writeCheckpoint()
        try reopened { #expect($0.indexMark.commit == 1 && pointers($0).count == 1) }
        try commit { batch in
            try batch.put([1], [])
            try batch.addIndexEntries(Self.entry("y"))
        }
        try reopened { snapshot in
            #expect(snapshot.indexMark.commit == 1 && snapshot.commit == 2)
            #expect(pointers(snapshot).keys.sorted() == ["x"])
        }
        try commit(keepingIndexProgress: false) { try $0.put([1], []) }
        try engine.writeCheckpoint()
        try reopened { #expect($0.indexMark == .none && pointers($0).count == 2) }
        let verified = try Verifier.verify(volume.processDeath(seed: 2))
        #expect(verified.findings.allSatisfy { $0.severity == .note }, "\(verified.findings)")
        #expect(verified.keyCount == 1 && verified.usableCheckpointCount == 2)
    }

    @Test func `index entries follow their operations through compaction`() throws {
        for round in 0..<30 {
            try commit { batch in
                for key in 0..<5 where (round + key) % 3 == 0 {
                    let bytes = Array("key \(key)".utf8)
                    if round % 4 == 3, round > 6 {
                        try batch.extend(bytes, Array("\(round)".utf8))
                    } else {
                        try batch.put(bytes, Array("\(round)".utf8))
                    }
                    try batch.addIndexEntries(Self.entry("\(key)"))
                }
                try batch.put([1], [UInt8](repeating: 1, count: 90))
            }
            let before = try contents(engine.snapshot())
            engine.compactEverything()
            while try engine.compactionStep() {}
            #expect(try contents(engine.snapshot()) == before)
            #expect(engine.checkLiveBytes() == [])
        }
        #expect(engine.snapshot().segments.files.contains { $0.header.kind == .base })
    }

    @Test func `an invalid index entry is refused`() throws {
        var batch = WriteBatch()
        try batch.put([1], [])
        for key in [[], [0], [0xFE, 1]] as [[UInt8]] {
            #expect(throws: StorageError.invalidKey("an index entry begins with byte 255")) {
                try batch.addIndexEntries(key)
            }
        }
        let longest = [UInt8](repeating: 0xFF, count: Limits.maximumIndexEntryLength)
        let limit = StorageError.limit(name: "maximumIndexEntryLength", value: 1_033, limit: 1_032)
        #expect(throws: limit) { try batch.addIndexEntries(longest + [0xFF]) }
        try batch.addIndexEntries(longest)
        _ = try engine.append(batch)
        try engine.flush()
        #expect(longest.withUnsafeBytes { engine.snapshot().recordPointer(of: $0) } != nil)
        #expect(engine.snapshot().count == 1)
    }
}
