import SheafSimulator
import SheafStorage
import SheafTestSupport
import Testing

/// A sample of the cases of `sheaf-check simulate flips`, `truncations` and `blocks`.
@Suite struct DamageTests {
    private static let seed: UInt64 = 41
    /// The target size of the stores; small because debug builds are slow.
    private static let byteCount = 48 << 10
    /// The offset in an operation of the field with its distance from the start of the record.
    private static let distanceInOperation = 16

    /// A store of each ending, whose files all tests copy.
    private static let stores = Result {
        try ReferenceStore.Ending.allCases.map {
            try ReferenceStore(seed: seed, ending: $0, byteCount: byteCount)
        }
    }

    private func store(_ ending: ReferenceStore.Ending) throws -> ReferenceStore {
        try #require(try Self.stores.get().first { $0.ending == ending })
    }

    private func sweep(_ ending: ReferenceStore.Ending) throws -> DamageSweep {
        DamageSweep(try store(ending), seed: Self.seed)
    }

    @Test func `a flipped bit is reported, harmless, or treated as a torn tail`() throws {
        for ending in ReferenceStore.Ending.allCases {
            let sweep = try sweep(ending)
            var tally = DamageSweep.Tally()
            for index in stride(from: 0, to: sweep.store.byteCount, by: 331) {
                tally.add(try sweep.flip(index))
            }
            #expect(tally.counts[.reportedAtOpening, default: 0] > 0)
            if ending != .crashed { #expect(tally.counts[.shorter] == nil) }
        }
    }

    @Test func `a truncated file is reported, is harmless, or loses the end of the log`() throws {
        for ending in ReferenceStore.Ending.allCases {
            let sweep = try sweep(ending)
            var tally = DamageSweep.Tally()
            for index in stride(from: 0, to: sweep.store.byteCount, by: 331) {
                tally.add(try sweep.truncate(index))
            }
            #expect(tally.counts[.reportedAtOpening, default: 0] > 0)
            // The checkpoint records the required length of the log.
            if ending == .checkpointed { #expect(tally.counts[.shorter] == nil) }
        }
    }

    @Test func `damaged blocks and misplaced files never yield wrong data`() throws {
        for ending in ReferenceStore.Ending.allCases {
            let other = try ReferenceStore(
                seed: Self.seed + 1, ending: ending, byteCount: Self.byteCount)
            let copy = try ReferenceStore(
                seed: Self.seed, ending: ending, byteCount: Self.byteCount, seedOffset: 1)
            let tallies = try sweep(ending).damageBlocks(other: other, copy: copy, stride: 5)
            #expect(tallies.count >= 7)
            #expect(tallies.values.contains { $0.counts[.reportedAtOpening, default: 0] > 0 })
        }
    }

    @Test func `a checkpoint without its log is not mistaken for an empty store`() throws {
        let store = try store(.checkpointed)
        var files = store.files
        for name in store.names {
            if case .checkpoint = FileName(name) { continue }
            files[name] = nil
        }
        #expect(files.count == 2)
        #expect {
            _ = try StoreEngine(opening: SimulatedVolume(files: files))
        } throws: { error in
            guard case .corrupt(let damage) = error as? StorageError else { return false }
            return damage.file == FileName.name(ofSegment: 1)
        }
    }

    @Test func `a pointer into the middle of a verified record is not trusted`() throws {
        let volume = SimulatedVolume(seed: Self.seed)
        let (first, second) = (Array("a".utf8), Array("b".utf8))
        let value = Array("value".utf8)
        let store = try StoreEngine(opening: volume)
        for key in [first, second] {
            var batch = WriteBatch()
            try batch.put(key, value)
            _ = try store.append(batch)
            while try store.flush() {}
        }
        try store.writeCheckpoint()
        let snapshot = store.snapshot()
        let pointers = try [first, second].map { key in
            try #require(key.withUnsafeBytes { snapshot.recordPointer(of: $0) })
        }
        try store.close()
        let offset = pointers[1].position.offset
        // At this position, the kind of the record is read as its length.
        let distance = UInt32(offset - (pointers[0].position.offset - Record.headerLength + 4))
        let name = FileName.name(ofSegment: pointers[1].position.segment)
        volume.corrupt(
            name,
            .overwrite(
                at: offset + Self.distanceInOperation,
                with: withUnsafeBytes(of: distance.littleEndian) { Array($0) }))
        volume.corrupt(name, .flipBit(at: offset + pointers[1].length - 1, bit: 0))

        let damaged = try StoreEngine(opening: volume).snapshot()
        #expect(
            try first.withUnsafeBytes { key in try damaged.payload(of: key).map(Array.init) }
                == value)
        let found = pointers.withUnsafeBufferPointer { pointers in
            OperationBatch(capacity: pointers.count).find(pointers, in: damaged)
        }
        #expect(found == 1)
        #expect {
            _ = try second.withUnsafeBytes { key in try damaged.payload(of: key).map(Array.init) }
        } throws: { error in
            guard case .corrupt(let damage) = error as? StorageError else { return false }
            return damage.file == name
        }
    }

    @Test func `an operation that claims to be in the record before its own is damaged`() throws {
        let volume = SimulatedVolume(seed: Self.seed)
        let keys = [Array("a".utf8), Array("b".utf8)]
        // The record of this operation has no padding.
        let value = [UInt8](repeating: 7, count: 203)
        let store = try StoreEngine(opening: volume)
        for key in keys {
            var batch = WriteBatch()
            try batch.put(key, value)
            _ = try store.append(batch)
            while try store.flush() {}
        }
        try store.writeCheckpoint()
        let snapshot = store.snapshot()
        let positions = try keys.map { key in
            try #require(key.withUnsafeBytes { snapshot.recordPointer(of: $0) }).position
        }
        try store.close()
        let offset = positions[1].offset
        let distance = UInt32(offset - (positions[0].offset - Record.headerLength))
        let name = FileName.name(ofSegment: positions[1].segment)
        volume.corrupt(
            name,
            .overwrite(
                at: offset + Self.distanceInOperation,
                with: withUnsafeBytes(of: distance.littleEndian) { Array($0) }))

        let damaged = try StoreEngine(opening: volume).snapshot()
        func payload(_ key: [UInt8]) throws -> [UInt8]? {
            try key.withUnsafeBytes { key in try damaged.payload(of: key).map(Array.init) }
        }
        #expect(try payload(keys[0]) == value)
        #expect {
            _ = try payload(keys[1])
        } throws: { error in
            guard case .corrupt(let damage) = error as? StorageError else { return false }
            return damage.file == name && damage.offset == offset + Self.distanceInOperation
        }
    }

    @Test func `a log that ends before its checkpoint is damage of the last file`() throws {
        let store = try store(.checkpointed)
        let name = try #require(
            store.names.last { name in
                if case .segment = FileName(name) { return true }
                return false
            })
        let size = store.files[name]?.count ?? 0
        for length in [0, 18, 127, 128, 200, size - 100] {
            let volume = store.volume()
            volume.corrupt(name, .truncate(to: length))
            #expect("\(length)") {
                _ = try StoreEngine(opening: volume)
            } throws: { error in
                guard case .corrupt(let damage) = error as? StorageError else { return false }
                return damage.file == name
            }
        }
    }
}
