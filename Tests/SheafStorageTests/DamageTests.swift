import SheafSimulator
import SheafStorage
import SheafTestSupport
import Testing

/// A share of what `sheaf-simulate flips`, `truncations` and `blocks` do in release.
@Suite struct DamageTests {
    private static let seed: UInt64 = 41
    /// Small stores: a debug build is slow, and every kind of byte is in them.
    private static let byteCount = 48 << 10
    /// Where an operation says how far behind the start of its record it is.
    private static let distanceInOperation = 16

    private func sweep(_ ending: ReferenceStore.Ending) throws -> DamageSweep {
        DamageSweep(
            try ReferenceStore(seed: Self.seed, ending: ending, byteCount: Self.byteCount),
            seed: Self.seed)
    }

    @Test func `a flipped bit is reported, or changes no answer`() throws {
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

    @Test func `a file that was cut is reported, or ends with an earlier commit`() throws {
        for ending in ReferenceStore.Ending.allCases {
            let sweep = try sweep(ending)
            var tally = DamageSweep.Tally()
            for index in stride(from: 0, to: sweep.store.byteCount, by: 331) {
                tally.add(try sweep.truncate(index))
            }
            #expect(tally.counts[.reportedAtOpening, default: 0] > 0)
            // The checkpoint says how long the log has to be.
            if ending == .checkpointed { #expect(tally.counts[.shorter] == nil) }
        }
    }

    @Test func `blocks and files of the wrong place are reported, or change no answer`() throws {
        for ending in ReferenceStore.Ending.allCases {
            let other = try ReferenceStore(
                seed: Self.seed + 1, ending: ending, byteCount: Self.byteCount)
            let twin = try ReferenceStore(
                seed: Self.seed, ending: ending, byteCount: Self.byteCount, life: 1)
            let tallies = try sweep(ending).damageBlocks(other: other, twin: twin, stride: 5)
            #expect(tallies.count >= 7)
            #expect(tallies.values.contains { $0.counts[.reportedAtOpening, default: 0] > 0 })
        }
    }

    @Test func `a log that is missing beside its checkpoint is no empty store`() throws {
        let store = try ReferenceStore(
            seed: Self.seed, ending: .checkpointed, byteCount: Self.byteCount)
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

    @Test func `what points into the middle of a verified record is not taken for verified`() throws
    {
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
        let places = try [first, second].map { key in
            try #require(key.withUnsafeBytes { snapshot.place(of: $0) })
        }
        try store.close()
        let offset = places[1].position.offset
        // Where the length of a record would be, four bytes behind its start, is its kind.
        let distance = UInt32(offset - (places[0].position.offset - Record.headerLength + 4))
        let name = FileName.name(ofSegment: places[1].position.segment)
        volume.corrupt(
            name,
            .overwrite(
                at: offset + Self.distanceInOperation,
                with: withUnsafeBytes(of: distance.littleEndian) { Array($0) }))
        volume.corrupt(name, .flipBit(at: offset + places[1].length - 1, bit: 0))

        let damaged = try StoreEngine(opening: volume).snapshot()
        #expect(
            try first.withUnsafeBytes { key in try damaged.payload(of: key).map(Array.init) }
                == value)
        let found = places.withUnsafeBufferPointer { places in
            OperationBatch(capacity: places.count).find(places, in: damaged)
        }
        #expect(found == 1)
        #expect {
            _ = try second.withUnsafeBytes { key in try damaged.payload(of: key).map(Array.init) }
        } throws: { error in
            guard case .corrupt(let damage) = error as? StorageError else { return false }
            return damage.file == name
        }
    }

    @Test func `a log that ends before its checkpoint is damaged where it ends`() throws {
        let store = try ReferenceStore(
            seed: Self.seed, ending: .checkpointed, byteCount: Self.byteCount)
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
