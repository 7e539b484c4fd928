import SheafSimulator
import SheafStorage
import SheafTestSupport
import Testing

/// Readers that follow a writer through single steps.
@Suite struct LogFollowerTests {
    private let volume = SimulatedVolume(seed: 8)

    private func engine(on volume: any Volume) throws -> StoreEngine {
        var options = SmallStore.options(seed: 8)
        options.history = HistoryHorizon(commits: 0, bytes: 0)
        return try StoreEngine(opening: volume, options: options)
    }

    private func put(_ key: String, _ payload: String, _ engine: StoreEngine) throws {
        var batch = WriteBatch()
        try batch.put(Array(key.utf8), Array(payload.utf8))
        _ = try engine.append(batch)
        try engine.flush()
    }

    private func payload(of key: String, in snapshot: LogSnapshot) throws -> String? {
        try Array(key.utf8).withUnsafeBytes { key in
            try snapshot.payload(of: key).map { String(decoding: $0, as: UTF8.self) }
        }
    }

    private func compact(_ engine: StoreEngine) throws {
        engine.compactEverything()
        while try engine.compactionStep() {}
    }

    @Test func `a key whose removal was compacted away does not return`() throws {
        let engine = try engine(on: volume)
        try put("gone", "1", engine)
        let follower = try LogFollower(try LogReader(volume))
        #expect(try payload(of: "gone", in: follower.snapshot) == "1")
        var batch = WriteBatch()
        try batch.remove(Array("gone".utf8))
        _ = try engine.append(batch)
        for number in 0..<40 { try put("key", "payload \(number) of many", engine) }
        try engine.writeCheckpoint()
        try compact(engine)
        let advance = try #require(try follower.advance())
        #expect(advance.changedKeys == nil)
        #expect(try payload(of: "gone", in: advance.snapshot) == nil)
        #expect(advance.snapshot.count == 1)
        #expect(advance.snapshot.commit == engine.snapshot().commit)
        try engine.close()
    }

    @Test func `a reader opened within a commit of several segments reads all of it later`() throws
    {
        var followers: [LogFollower] = []
        var problems: [String] = []
        var isWriting = false
        let observed = ObservedVolume(volume) { [volume] in
            guard isWriting else { return }
            isWriting = false
            defer { isWriting = true }
            do {
                // The mark would hide the records after the last durable commit from readers.
                try? volume.remove(FileName.syncedName)
                for follower in followers { _ = try follower.advance() }
                followers.append(try LogFollower(try LogReader(volume)))
            } catch {
                problems.append("\(error)")
            }
        }
        var options = SmallStore.options(seed: 8)
        options.recordLength = 200
        let engine = try StoreEngine(opening: observed, options: options)
        try put("key", "1", engine)
        // Without prepared files, a segment grows to the length of the commit.
        try engine.prepareNextSegment()
        isWriting = true
        var batch = WriteBatch()
        for number in 0..<40 {
            try batch.put(Array("key \(number)".utf8), Array(repeating: 7, count: 100))
        }
        let commit = try engine.append(batch)
        try engine.flush()
        isWriting = false
        #expect(problems == [])
        #expect(engine.snapshot().end.segment > 3, "the commit has several segments")
        for follower in followers {
            _ = try follower.advance()
            #expect(follower.snapshot.commit == commit)
            #expect(follower.snapshot.count == 41)
        }
        try engine.close()
    }

    @Test func `a removed store, or another one in its place, is no state of the opened one`()
        throws
    {
        let engine = try engine(on: volume)
        try put("key", "1", engine)
        let follower = try LogFollower(try LogReader(volume))
        try engine.close()
        for name in try volume.names() { try volume.remove(name) }
        let removed = #expect(throws: StorageError.self) { try follower.advance() }
        #expect("\(removed as Any)".contains("removed from its directory"))
        var options = SmallStore.options(seed: 9)
        options.segmentLength = 4 << 20
        let other = try StoreEngine(opening: volume, options: options)
        try put("other", "2", other)
        let replaced = #expect(throws: StorageError.self) { try follower.advance() }
        #expect("\(replaced as Any)".contains("another store has replaced"))
        #expect(try payload(of: "key", in: follower.snapshot) == "1")
        try other.close()
    }

    @Test func `a reader maps a segment anew that has outgrown its mapping`() throws {
        // The first segment has 1 MiB of zeros at first, and grows beyond them.
        var options = SmallStore.options(seed: 8)
        options.segmentLength = 4 << 20
        let engine = try StoreEngine(opening: volume, options: options)
        let payload = String(repeating: "a", count: 300_000)
        try put("key 0", payload, engine)
        let follower = try LogFollower(try LogReader(volume))
        for number in 1..<6 {
            try put("key \(number)", payload, engine)
            let advance = try #require(try follower.advance())
            #expect(advance.changedKeys == [Array("key \(number)".utf8)])
            #expect(try self.payload(of: "key \(number)", in: advance.snapshot) == payload)
        }
        #expect(follower.snapshot.end.segment == 1)
        #expect(follower.snapshot.end.offset > 1 << 20)
        try engine.close()
    }

    @Test func `a reader changes to new base files, and releases the replaced ones`() throws {
        let engine = try engine(on: volume)
        let follower = try LogFollower(try LogReader(volume))
        for round in 0..<6 {
            for number in 0..<20 { try put("key \(number)", "payload \(round)", engine) }
            // The next commit may end in the segment that the reader has seen last.
            if round % 2 == 1 { _ = try follower.advance() }
            try compact(engine)
            try put("key 0", "payload \(round)", engine)
            _ = try follower.advance()
            let own = follower.snapshot.segments.files.map(\.header)
            #expect(own == engine.snapshot().segments.files.map(\.header))
            for number in 0..<20 {
                #expect(
                    try payload(of: "key \(number)", in: follower.snapshot) == "payload \(round)")
            }
        }
        try engine.close()
    }

    @Test func `a reader maps a sealed segment once`() throws {
        let engine = try engine(on: volume)
        for number in 0..<20 { try put("key \(number)", "payload", engine) }
        let follower = try LogFollower(try LogReader(volume))
        let first = try #require(follower.snapshot.segments.files.first)
        try #require(first.header.kind == .log && first.footer != nil)
        // In another segment, the mark makes the reader list the directory again.
        let segment = engine.snapshot().end.segment
        while engine.snapshot().end.segment == segment { try put("key 0", "other", engine) }
        let advance = try #require(try follower.advance())
        #expect(advance.changedKeys == [Array("key 0".utf8)])
        #expect(follower.snapshot.segments.files.first === first)
        #expect(try payload(of: "key 1", in: advance.snapshot) == "payload")
        try engine.close()
    }

    @Test func `a reader maps a base file once`() throws {
        let engine = try engine(on: volume)
        for round in 0..<2 {
            for number in 0..<20 { try put("key \(number)", "payload \(round)", engine) }
        }
        try compact(engine)
        try put("key 0", "payload 2", engine)
        let follower = try LogFollower(try LogReader(volume))
        func base() throws -> Segment {
            let files = follower.snapshot.segments.files
            return try #require(files.first { $0.header.kind == .base })
        }
        let first = try base()
        // In another segment, the mark makes the reader list the directory again.
        let segment = engine.snapshot().end.segment
        while engine.snapshot().end.segment == segment { try put("key 0", "payload 3", engine) }
        let advance = try #require(try follower.advance())
        #expect(advance.changedKeys == [Array("key 0".utf8)])
        #expect(try base() === first)
        #expect(try payload(of: "key 0", in: advance.snapshot) == "payload 3")
        #expect(try payload(of: "key 1", in: advance.snapshot) == "payload 1")
        try engine.close()
    }

    @Test(arguments: 0..<24 as Range<UInt64>)
    func `without a mark, a reader makes durable what it shows`(seed: UInt64) throws {
        var seen: CommitID = 0
        var isWatching = false
        let disk = SimulatedVolume(seed: seed)
        let observed = ObservedVolume(disk) {
            guard isWatching else { return }
            // The fault is that of the writer.
            disk.withoutFaults {
                try? disk.remove(FileName.syncedName)
                let reader = try? LogFollower(try LogReader(disk))
                seen = max(seen, reader?.snapshot.commit ?? 0)
            }
        }
        let engine = try engine(on: observed)
        try put("key", "1", engine)
        isWatching = true
        var batch = WriteBatch()
        try batch.put([1], [2])
        _ = try engine.append(batch)
        // The power fails between the write and the sync, in which the reader sees the commit.
        disk.inject(SimulatedFault(.error(.powerCut), atCall: 1, of: .synchronize))
        #expect(throws: StorageError.self) { try engine.flush() }
        #expect(seen == 2)
        isWatching = false
        let image = disk.powerCut(seed: seed)
        let recovered = try StoreEngine(opening: image).snapshot()
        #expect(recovered.commit >= seen)
    }

    @Test func `a refresh within a segment does not list the directory`() throws {
        let engine = try engine(on: volume)
        try put("key", "1", engine)
        let follower = try LogFollower(try LogReader(volume))
        for number in 2...40 {
            let before = engine.snapshot().end
            try put("key", "\(number)", engine)
            volume.inject(SimulatedFault(.error(.inputOutput), atCall: 1, of: .list))
            if engine.snapshot().end.segment == before.segment {
                #expect(try follower.advance()?.changedKeys == [Array("key".utf8)])
            } else {
                #expect(throws: StorageError.self) { try follower.advance() }
                #expect(follower.snapshot.end == before)
                #expect(try follower.advance()?.changedKeys == [Array("key".utf8)])
            }
            volume.removeFaults()
            #expect(follower.snapshot.commit == CommitID(number))
            #expect(try payload(of: "key", in: follower.snapshot) == "\(number)")
        }
        try engine.close()
    }

    @Test func `a reader stops at the mark, whatever follows in the file`() throws {
        let engine = try engine(on: volume)
        try put("key", "1", engine)
        let mark = try volume.contents(of: FileName.syncedName)
        try put("key", "2", engine)
        let file = try volume.open(FileName.syncedName, .write)
        try file.writeFully(mark, at: 0)
        let reader = try LogFollower(try LogReader(volume))
        #expect(reader.snapshot.commit == 1)
        #expect(try payload(of: "key", in: reader.snapshot) == "1")
        try put("key", "3", engine)
        #expect(try reader.advance()?.snapshot.commit == 3)
        try engine.close()
    }
}
