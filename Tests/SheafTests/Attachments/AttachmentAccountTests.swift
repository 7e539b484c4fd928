import SheafAttachments
import SheafDocument
import SheafStorage
import SheafTestSupport
import Testing

/// Tests of what a store of attachments counts: files of collections, marks, bytes and chunks.
@Suite struct AttachmentAccountTests {
    private let clock = FakeClock(wallMilliseconds: 0)
    private let volume = SimulatedVolume()

    private func store(_ change: (inout AttachmentStore.Options) -> Void = { _ in })
        -> AttachmentStore
    {
        let clock = clock
        return AttachmentStore(volume) { options in
            options.clock = clock.clock
            change(&options)
        }
    }

    /// Collects files; returns the counts of removed, unreferenced and referenced files.
    private func collect(
        _ store: AttachmentStore, named: [AttachmentID], at milliseconds: UInt64
    ) throws -> [Int] {
        clock.setWall(milliseconds: milliseconds)
        let report = try store.collect(graceMilliseconds: 600) { $0.intersection(named) }
        return [report.removed, report.unreferenced, report.referenced]
    }

    @Test func `a collection counts files, and marks those without a reference`() throws {
        let store = store()
        #expect(!store.holdsFiles)
        #expect(try collect(store, named: [], at: 1_000) == [0, 0, 0])
        let contents: [[UInt8]] = [[1], [2], [3]]
        let ids = try contents.map { try store.add($0) }
        #expect(store.holdsFiles)
        func marks(_ store: AttachmentStore) throws -> [UInt64?] {
            try ids.map { try store.entry($0)?.unreferencedSince }
        }
        #expect(try marks(store) == [0, 0, 0])
        #expect(try collect(store, named: [ids[0]], at: 1_000) == [0, 2, 1])
        #expect(try marks(store) == [0, 1_000, 1_000])
        #expect(try collect(store, named: [ids[1]], at: 1_599) == [0, 2, 1])
        #expect(try marks(store) == [1_599, 0, 1_000])
        // A request clears the mark of a file, also in the file.
        try store.clearMark(of: ids[0])
        #expect(try marks(self.store()) == [nil, nil, nil])
        #expect(try collect(self.store(), named: ids, at: 1_600) == [0, 0, 3])
        #expect(try collect(store, named: [], at: 1_600) == [1, 2, 0])
        #expect(try marks(store) == [1_600, 1_600, nil])
        store.touch(ids[0])
        store.touch(ids[2])
        #expect(try marks(store) == [0, 1_600, nil])
        #expect(try collect(store, named: [], at: 2_200) == [1, 1, 0])
        #expect(try store.ids == [ids[0]])
    }

    @Test func `a mark is not zero, although the clock is`() throws {
        let store = store()
        let id = try store.add([1])
        #expect(try collect(store, named: [], at: 0) == [0, 1, 0])
        #expect(try store.entry(id)?.unreferencedSince == 1)
        #expect(try collect(store, named: [], at: 600) == [0, 1, 0])
        #expect(try collect(store, named: [], at: 601) == [1, 0, 0])
    }

    @Test func `a collection asks for the references of all files at once`() throws {
        let store = store()
        var asked: [Set<AttachmentID>] = []
        _ = try store.collect(graceMilliseconds: 600) { ids in
            asked.append(ids)
            return []
        }
        #expect(asked.isEmpty)
        let ids = [try store.add([1]), try store.add([2])]
        _ = try store.collect(graceMilliseconds: 600) { ids in
            asked.append(ids)
            return ids
        }
        #expect(asked == [Set(ids)])
    }

    @Test func `the space of a file is released when adding it fails`() throws {
        let store = store { $0.maximumLength = 100 }
        let changing = ObservedFiles(
            ["a": [UInt8](repeating: 1, count: 80)], atFirstRead: .truncate(to: 10))
        #expect(throws: AttachmentError.sourceChanged("simulation/a")) {
            try store.add("a", in: changing)
        }
        let id = try store.add([UInt8](repeating: 2, count: 100))
        let full = AttachmentError.limit(name: "attachmentMemory", value: 101, limit: 100)
        #expect(throws: full) { try store.add([1]) }
        try store.remove(id)
        let sample = SampleFile(seed: 3, length: 99)
        let incoming = try #require(try store.begin(sample))
        _ = try store.add([1])
        #expect(throws: full) { try store.add([2]) }
        // The complete file takes the space of the partial one.
        let outcome = try incoming.put(sample.bytes, at: 0)
        #expect(outcome == .complete)
        #expect(throws: full) { try store.add([2]) }
        try store.remove(sample.id)
        _ = try store.add([UInt8](repeating: 3, count: 99))
        #expect(throws: full) { try store.add([2]) }
        volume.inject(SimulatedFault(.error(.inputOutput), of: .rename))
        let other = self.store { $0.maximumLength = 100 }
        #expect(throws: AttachmentError.self) { try other.begin(sample) }
        _ = try other.add([UInt8](repeating: 4, count: 100))
    }

    /// A source that must not be read, since it is too long.
    private struct LongSource: AttachmentSource {
        let name = "long"
        let length = 1 << 36 + 1

        func read(
            into buffer: UnsafeMutableRawBufferPointer, at offset: Int
        ) throws(VolumeError) -> Bool {
            false
        }

        func isUnchanged() throws(VolumeError) -> Bool { false }
    }

    @Test func `a file of more than 64 GiB is refused`() throws {
        let store = store()
        let length = 1 << 36 + 1
        let refusal = AttachmentError.limit(
            name: "maximumAttachmentLength", value: length, limit: 1 << 36)
        #expect(throws: refusal) { try store.add(LongSource()) }
        let count = ChunkList.count(ofLength: length)
        #expect(count == 262_145)
        let id = try #require(AttachmentID(bytes: [UInt8](repeating: 1, count: 32)))
        let hashes = [UInt8](repeating: 0, count: 32 * count)
        #expect(throws: AttachmentError.wrongList(id)) {
            try store.beginFetch(id, length: length, hashes: hashes)
        }
        #expect(volume.snapshotFiles().isEmpty)
    }

    @Test func `chunks are made durable together, and when the file is flushed`() throws {
        let sample = SampleFile(seed: 12, length: 4 * 262_144 + 1)
        let store = store { $0.chunksPerSync = 2 }
        let incoming = try #require(try store.begin(sample))
        /// Returns the chunks that another process finds missing.
        func missing() throws -> [Range<Int>] {
            let other = AttachmentStore(volume.processDeath())
            return try #require(try other.incoming(sample.id)).missingChunks()
        }
        let first = try incoming.put(sample.chunk(3), at: 3)
        #expect(try first == .accepted && missing() == [0..<5])
        let second = try incoming.put(sample.chunk(0), at: 0)
        #expect(try second == .accepted && missing() == [1..<3, 4..<5])
        let again = try incoming.put(sample.chunk(0), at: 0)
        #expect(again == .duplicate && incoming.contains(0) && !incoming.contains(1))
        try incoming.put(sample.chunk(4), at: 4)
        #expect(try missing() == [1..<3, 4..<5])
        #expect(incoming.receivedLength == 2 * 262_144 + 1)
        let isComplete = try incoming.flush()
        #expect(try !isComplete && missing() == [1..<3])
        #expect(incoming.missingChunks(limit: 1) == [1..<3])
        try incoming.put(sample.chunk(1), at: 1)
        let last = try incoming.put(sample.chunk(2), at: 2)
        let isFlushed = try incoming.flush()
        #expect(last == .complete && isFlushed)
        #expect(try store.bytes(of: sample.id) == sample.bytes)
    }
}
