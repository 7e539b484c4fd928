import Sheaf
import SheafAttachments
import SheafStorage
import SheafTestSupport
import Testing

@Suite struct AttachmentStoreTests {
    @Test func `an added file is readable, also after the directory is opened again`() throws {
        let volume = SimulatedVolume()
        let store = AttachmentStore(volume, isMade: false)
        for file in SampleFile.all {
            #expect(try !store.has(file.id))
            let id = try store.add(file.bytes)
            #expect(id == file.id)
            #expect(try store.has(id))
        }
        #expect(volume.isSettled)
        for other in [store, AttachmentStore(volume)] {
            #expect(Set(try other.ids) == Set(SampleFile.all.map(\.id)))
            for file in SampleFile.all {
                #expect(try other.bytes(of: file.id) == file.bytes)
                #expect(try other.chunkList(of: file.id) == file.list)
            }
        }
    }

    @Test func `equal files are stored once`() throws {
        let volume = SimulatedVolume()
        let store = AttachmentStore(volume)
        let file = SampleFile.all[2]
        for _ in 0..<3 { _ = try store.add(file.bytes) }
        #expect(volume.snapshotFiles().keys.sorted() == ["\(file.id).whole"])
    }

    @Test func `a range of bytes is read from the chunks that contain it`() throws {
        let store = AttachmentStore(SimulatedVolume())
        let sample = SampleFile.all[5]
        let file = try #require(try store.file(try store.add(sample.bytes)))
        for range in [
            0..<0, 0..<1, 262_143..<262_145, 262_144..<262_144, 100_000..<524_289,
            529_999..<530_000,
        ] {
            #expect(try file.read(range) == Array(sample.bytes[range]))
        }
    }

    @Test func `a damaged chunk is reported and adding the file again repairs it`() throws {
        let sample = SampleFile.all[4]
        let header = 4_096
        let seed: UInt64 = 77
        var random = SeededRandom(seed: seed, "damage")
        let volume = SimulatedVolume()
        let name = "\(sample.id).whole"
        for chunk in 0..<sample.list.count {
            _ = try AttachmentStore(volume).add(sample.bytes)
            let range = sample.list.range(of: chunk)
            let offset = header + range.lowerBound + random.below(range.count)
            volume.corrupt(name, .flipBit(at: offset, bit: random.below(8)))
            let store = AttachmentStore(volume)
            let file = try #require(try store.file(sample.id))
            for other in 0..<sample.list.count where other != chunk {
                #expect(try file.read(other) == sample.chunk(other))
            }
            let error = #expect(throws: AttachmentError.self, "seed \(seed)") {
                try file.read(chunk)
            }
            let damage = StorageError.Damage(
                file: "attachments/\(name)", offset: header + range.lowerBound,
                reason: "the bytes do not match the hash of chunk \(chunk)")
            #expect(error == .damaged(damage))
        }
        volume.corrupt(name, .truncate(to: 200_000))
        #expect(throws: AttachmentError.self) { try AttachmentStore(volume).file(sample.id) }
        let last = AttachmentStore(volume)
        _ = try last.add(sample.bytes)
        #expect(try last.bytes(of: sample.id) == sample.bytes)
    }

    @Test func `a damaged header is reported before a chunk is read`() throws {
        let sample = SampleFile.all[4]
        let volume = SimulatedVolume()
        _ = try AttachmentStore(volume).add(sample.bytes)
        volume.corrupt("\(sample.id).whole", .flipBit(at: 100, bit: 1))
        let error = #expect(throws: AttachmentError.self) {
            try AttachmentStore(volume).file(sample.id)
        }
        guard case .damaged(let damage)? = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(damage.file == "attachments/\(sample.id).whole" && damage.offset == 96)
    }

    @Test func `temporary files are removed and unrelated files are left alone`() throws {
        let sample = SampleFile.all[1]
        let volume = SimulatedVolume()
        let store = AttachmentStore(volume)
        _ = try store.add(sample.bytes)
        let whole = try #require(volume.snapshotFiles()["\(sample.id).whole"])
        let other = SampleFile.all[2].id
        let files = [
            "\(sample.id).whole": whole, "\(sample.id).part": whole, "0123456789abcdef.tmp": [],
            "x.tmp": [], "\(other).Whole": [], "abc.whole": [], "notes.txt": [1],
        ]
        let left = SimulatedVolume(files: files)
        let reader = AttachmentStore(ReadOnlyVolume(left)) { $0.isReadOnly = true }
        #expect(try reader.bytes(of: sample.id) == sample.bytes)
        #expect(left.snapshotFiles() == files)
        #expect(try AttachmentStore(left).ids == [sample.id])
        #expect(
            left.snapshotFiles().keys.sorted()
                == ["\(sample.id).whole", "x.tmp", "\(other).Whole", "abc.whole", "notes.txt"]
                .sorted())
    }

    @Test func `a read-only store changes no file`() throws {
        let volume = SimulatedVolume()
        _ = try AttachmentStore(volume).add([1, 2, 3])
        let files = volume.snapshotFiles()
        let reader = AttachmentStore(ReadOnlyVolume(volume)) { $0.isReadOnly = true }
        let sample = SampleFile.all[2]
        #expect(throws: AttachmentError.readOnly) { try reader.add(sample.bytes) }
        #expect(throws: AttachmentError.readOnly) { try reader.begin(sample) }
        #expect(volume.snapshotFiles() == files)
        // A missing directory counts as an empty one.
        #expect(try AttachmentStore(volume, isMade: false) { $0.isReadOnly = true }.ids == [])
    }

    @Test func `an in-memory store holds files up to its maximum length`() throws {
        let store = AttachmentStore(MemoryVolume()) { $0.maximumLength = 6_000 }
        let sample = SampleFile.all[2]
        _ = try store.add(sample.bytes)
        let full = AttachmentError.limit(name: "attachmentMemory", value: 6_001, limit: 6_000)
        let more = SampleFile(seed: 9, length: 1_001)
        #expect(throws: full) { try store.add(more.bytes) }
        #expect(throws: full) { try store.begin(more) }
        // The store recognizes an equal file only after reading all of it.
        #expect(throws: AttachmentError.self) { try store.add(sample.bytes) }
        let small = SampleFile(seed: 9, length: 1_000)
        let incoming = try #require(try store.begin(small))
        #expect(throws: AttachmentError.self) { try store.add([1]) }
        try store.abandon(small.id)
        #expect(throws: AttachmentError.missing(small.id)) { try incoming.put(small.bytes, at: 0) }
        _ = try store.add(small.bytes)
        #expect(throws: AttachmentError.self) { try store.add([1]) }
        try store.remove(small.id)
        for _ in 0..<3 { _ = try store.add([1]) }
        _ = try store.add(SampleFile(seed: 10, length: 998).bytes)
        #expect(try store.bytes(of: sample.id) == sample.bytes)
    }

    @Test func `a closed store refuses calls, and its open files stay readable`() throws {
        let volume = SimulatedVolume()
        let store = AttachmentStore(volume)
        let sample = SampleFile.all[5]
        let id = try store.add([1])
        let file = try #require(try store.file(id))
        let incoming = try #require(try store.begin(sample))
        for chunk in 0..<2 { try incoming.put(sample.chunk(chunk), at: chunk) }
        store.close()
        #expect(try file.read(0) == [1])
        #expect(throws: AttachmentError.closed) { try store.add([2]) }
        #expect(throws: AttachmentError.closed) { try store.file(id) }
        #expect(throws: AttachmentError.closed) { try incoming.put(sample.chunk(2), at: 2) }
        #expect(
            volume.snapshotFiles().keys.sorted() == ["\(id).whole", "\(sample.id).part"].sorted())
    }

    @Test func `a file that changes while it is added is refused`() throws {
        let volume = SimulatedVolume()
        let store = AttachmentStore(volume)
        let directory = ObservedFiles(["a": SampleFile.all[4].bytes])
        #expect(try store.add("a", in: directory).id == SampleFile.all[4].id)
        for change in [SimulatedCorruption.truncate(to: 262_144), .append([1])] {
            let changing = ObservedFiles(["a": SampleFile.all[4].bytes], atFirstRead: change)
            #expect(throws: AttachmentError.sourceChanged("simulation/a")) {
                try store.add("a", in: changing)
            }
        }
        #expect(throws: AttachmentError.self) { try store.add("b", in: directory) }
        #expect(volume.snapshotFiles().count == 1)
    }
}
