import SheafStorage
import SheafTestSupport
import Testing

/// Volumes in memory against arrays of bytes.
@Suite struct MemoryVolumeTests {
    @Test(arguments: 0..<20 as Range<UInt64>)
    func `a file and its mappings have the bytes of an array`(seed: UInt64) throws {
        var random = SeededRandom(seed: seed, "memory files")
        let file = try MemoryVolume().open("file", .create)
        var model: [UInt8] = []
        // The parts of the file that were mapped, which show later writes.
        var shared: [FileMapping] = []
        var copies: [(mapping: FileMapping, bytes: [UInt8])] = []
        for _ in 0..<60 {
            switch random.below(5) {
            case 0, 1:
                let (offset, bytes) = (random.below(60), random.bytes(1 + random.below(30)))
                model += [UInt8](
                    repeating: 0, count: max(offset + bytes.count - model.count, 0))
                model.replaceSubrange(offset..<offset + bytes.count, with: bytes)
                try file.writeFully(bytes, at: offset)
            case 2:
                let size = random.below(80)
                model = Array(model.prefix(size))
                model += [UInt8](repeating: 0, count: size - model.count)
                // Bytes that were cut off are zero if the file grows again, also in mappings.
                try file.truncate(to: size)
            case 3: shared.append(try file.map(length: random.below(80), .shared))
            default:
                let length = random.below(80)
                let copy = try file.map(length: length, .copyOnWrite)
                let bytes = model + [UInt8](repeating: 0, count: max(length - model.count, 0))
                copies.append((copy, Array(bytes.prefix(length))))
            }
            #expect(try file.size() == model.count)
            #expect(try file.readAll(limit: 1_000) == model, "seed \(seed)")
            for mapping in shared {
                let common = min(mapping.count, model.count)
                #expect(mapping.array(common) == Array(model.prefix(common)), "seed \(seed)")
            }
            for (mapping, bytes) in copies {
                #expect(mapping.array() == bytes, "seed \(seed)")
            }
        }
    }

    @Test func `a read returns the bytes up to the end of the file`() throws {
        let file = try MemoryVolume().open("file", .create)
        try file.writeFully([1, 2, 3], at: 0)
        var bytes: [UInt8] = [9, 9, 9, 9]
        func read(at offset: Int) throws -> Int {
            try bytes.withUnsafeMutableBytes { try file.read(into: $0, at: offset) }
        }
        #expect(try read(at: 3) == 0)
        #expect(try read(at: 4) == 0)
        #expect(bytes == [9, 9, 9, 9])
        #expect(try read(at: 2) == 1)
        #expect(bytes == [3, 9, 9, 9])
        #expect(try file.write(UnsafeRawBufferPointer(start: nil, count: 0), at: 9) == 0)
        #expect(try file.size() == 3)
    }

    @Test func `names are opened, renamed and removed as on a disk`() throws {
        let volume = MemoryVolume()
        #expect(throws: VolumeError(.open, "a", .noSuchFile)) { _ = try volume.open("a", .read) }
        #expect(throws: VolumeError(.open, "a", .noSuchFile)) { _ = try volume.open("a", .write) }
        try volume.write([1], to: "a")
        #expect(throws: VolumeError(.create, "a", .exists)) { _ = try volume.open("a", .create) }
        try volume.write([2], to: "b")
        let open = try volume.open("b", .read)
        try volume.rename("a", to: "b")
        #expect(try volume.contents(of: "b") == [1])
        // An open file is that of the former name.
        #expect(try open.readAll(limit: 9) == [2])
        #expect(throws: VolumeError(.rename, "a", .noSuchFile)) { try volume.rename("a", to: "c") }
        #expect(throws: VolumeError(.remove, "a", .noSuchFile)) { try volume.remove("a") }
        #expect(try volume.names() == ["b"])
        try volume.remove("b")
        #expect(try volume.names() == [])
    }

    @Test func `a subdirectory is created once, and the lock is held by one owner`() throws {
        let volume = MemoryVolume()
        #expect(try volume.directory("new", creating: false) == nil)
        let directory = try #require(try volume.directory("new", creating: true))
        try directory.write([1], to: "a")
        #expect(try volume.directory("new", creating: true)?.names() == ["a"])
        #expect(try volume.names() == ["new"])
        #expect(volume.isInstant)
        for _ in 0..<2 {
            guard case .acquired(let lock) = try volume.lock() else {
                Issue.record("The lock is free.")
                return
            }
            guard case .held(let holder?) = try volume.lock() else {
                Issue.record("The lock is held.")
                return
            }
            #expect(holder > 0)
            lock.release()
            guard case .acquired(let other) = try volume.lock() else {
                Issue.record("The lock was released.")
                return
            }
            // A second release does not end the lock of another owner.
            lock.release()
            guard case .held = try volume.lock() else {
                Issue.record("The lock is held again.")
                return
            }
            other.release()
        }
    }
}
