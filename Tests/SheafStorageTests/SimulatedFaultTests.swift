import SheafStorage
import SheafTestSupport
import Testing

/// Injected faults, and the retry loops that must handle them.
@Suite struct SimulatedFaultTests {
    private let bytes = SeededRandom.someBytes(1_000)

    private func images(of volume: SimulatedVolume, _ name: String) -> Set<[UInt8]?> {
        Set((0..<300).map { volume.powerCut(seed: $0).snapshotFiles()[name] })
    }

    @Test func `a single interruption is retried, and a permanent one is an error`() throws {
        for operation in [VolumeError.Operation.read, .write] {
            for isSticky in [false, true] {
                let volume = SimulatedVolume(files: ["a": bytes])
                let file = try volume.open("a", .write)
                volume.inject(
                    SimulatedFault(.error(.interrupted), of: operation, forEver: isSticky))
                let code = code {
                    if operation == .read {
                        #expect(try file.readFully(1_000, at: 0) == bytes)
                    } else {
                        try file.writeFully(bytes, at: 0)
                    }
                }
                #expect(code == (isSticky ? .interrupted : nil))
                #expect(volume.counters[operation] == (isSticky ? 1_000 : 2))
            }
        }
    }

    @Test func `an interrupted flush is retried up to a limit and loses nothing`() throws {
        for isSticky in [false, true] {
            let volume = SimulatedVolume(files: ["a": [0]])
            let file = try volume.open("a", .write)
            try file.writeFully([1, 2, 3], at: 0)
            for operation in [VolumeError.Operation.synchronize, .synchronizeNames] {
                volume.inject(
                    SimulatedFault(.error(.interrupted), of: operation, forEver: isSticky))
                let code = code {
                    if operation == .synchronize {
                        try file.synchronize()
                    } else {
                        try volume.synchronizeNames()
                    }
                }
                #expect(code == (isSticky ? .interrupted : nil))
                #expect(volume.counters[operation] == (isSticky ? 1_000 : 2))
            }
            volume.removeFaults()
            try file.synchronize()
            #expect(images(of: volume, "a") == [[1, 2, 3]])
        }
    }

    @Test func `the limit on interruptions restarts after each progress`() throws {
        let volume = SimulatedVolume()
        let file = try volume.open("a", .create)
        volume.inject(SimulatedFault(.short, of: .write, forEver: true))
        for call in stride(from: 1, to: 30, by: 2) {
            volume.inject(SimulatedFault(.error(.interrupted), atCall: call, of: .write))
        }
        try file.writeFully(bytes, at: 0)
        #expect(volume.snapshotFiles() == ["a": bytes])
    }

    @Test func `permanent short transfers still move all bytes`() throws {
        for seed in 0..<100 as Range<UInt64> {
            let volume = SimulatedVolume(seed: seed)
            volume.inject(SimulatedFault(.short, forEver: true))
            let file = try volume.open("a", .create)
            try file.writeFully(bytes, at: 3)
            #expect(try file.readFully(1_000, at: 3) == bytes, "seed \(seed)")
            #expect(try file.readAll(limit: 2_000) == [0, 0, 0] + bytes, "seed \(seed)")
            #expect(volume.counters[.write] > 1)
        }
    }

    @Test func `a fault affects only the selected call, kind and files`() throws {
        let volume = SimulatedVolume(files: ["a.log": [1], "b.tree": [2]])
        volume.inject(
            SimulatedFault(.error(.inputOutput), atCall: 2, of: .write, onFilesEndingIn: ".tree"))
        volume.inject(SimulatedFault(.error(.tooManyFiles), atCall: 3, of: .open))
        let log = try volume.open("a.log", .write)
        let tree = try volume.open("b.tree", .write)
        #expect(code { _ = try volume.open("a.log", .read) } == .tooManyFiles)
        for _ in 0..<3 { try log.writeFully([1], at: 0) }
        let codes = (0..<3).map { _ in code { try tree.writeFully([2], at: 0) } }
        #expect(codes == [nil, .inputOutput, nil])
    }

    @Test func `a sticky fault lasts until it is removed`() throws {
        let volume = SimulatedVolume(files: ["a": [1]])
        let file = try volume.open("a", .write)
        volume.inject(SimulatedFault(.error(.noSpace), atCall: 2, of: .write, forEver: true))
        let codes = (0..<4).map { _ in code { try file.writeFully([2], at: 0) } }
        #expect(codes == [nil, .noSpace, .noSpace, .noSpace])
        volume.removeFaults()
        try file.writeFully([3], at: 0)
    }

    @Test func `each kind of call can fail`() throws {
        let volume = SimulatedVolume(files: ["a": [1]])
        let file = try volume.open("a", .write)
        let calls: [(VolumeError.Operation, () throws -> Void)] = [
            (.list, { _ = try volume.names() }),
            (.open, { _ = try volume.open("a", .read) }),
            (.create, { _ = try volume.open("b", .create) }),
            (.size, { _ = try file.size() }),
            (.read, { _ = try file.readFully(1, at: 0) }),
            (.write, { try file.writeFully([1], at: 0) }),
            (.synchronize, { try file.synchronize() }),
            (.truncate, { try file.truncate(to: 1) }),
            (.map, { _ = try file.map(length: 1, .shared) }),
            (.rename, { try volume.rename("a", to: "c") }),
            (.remove, { try volume.remove("a") }),
            (.lock, { _ = try volume.lock() }),
            (.synchronizeNames, { try volume.synchronizeNames() }),
        ]
        for (operation, call) in calls {
            volume.inject(SimulatedFault(.error(.inputOutput), of: operation))
            #expect(code(call) == .inputOutput, "\(operation)")
            #expect(volume.snapshotFiles().keys.sorted() == ["a"], "\(operation)")
        }
    }

    @Test func `a failed write may be partial`() throws {
        var lengths: Set<Int> = []
        for seed in 0..<300 as Range<UInt64> {
            let volume = SimulatedVolume(seed: seed)
            let file = try volume.open("a", .create)
            volume.inject(SimulatedFault(.error(.inputOutput), of: .write))
            #expect(code { try file.writeFully([1, 2, 3, 4], at: 0) } == .inputOutput)
            let left = try file.size()
            #expect(try file.readFully(left, at: 0) == Array([1, 2, 3, 4].prefix(left)))
            lengths.insert(left)
        }
        #expect(lengths == [0, 1, 2, 3, 4])
    }

    @Test func `a failed sync may lose data that is still visible, and the next sync succeeds`()
        throws
    {
        var losses = 0
        for seed in 0..<100 as Range<UInt64> {
            let volume = SimulatedVolume(seed: seed, files: ["a": [0, 0]])
            let file = try volume.open("a", .write)
            try file.writeFully([1, 2, 3], at: 0)
            volume.inject(SimulatedFault(.error(.inputOutput), of: .synchronize))
            #expect(code { try file.synchronize() } == .inputOutput)
            try file.synchronize()
            #expect(volume.snapshotFiles() == ["a": [1, 2, 3]], "seed \(seed)")
            #expect(volume.processDeath().snapshotFiles() == ["a": [1, 2, 3]], "seed \(seed)")
            let images = images(of: volume, "a")
            #expect(images.count == 1, "seed \(seed)")
            // The size belongs to the file system, not to the lost page.
            guard images == [[0, 0, 0]] else {
                #expect(images == [[1, 2, 3]], "seed \(seed)")
                continue
            }
            losses += 1
            try file.writeFully([1, 2, 3], at: 0)
            try file.synchronize()
            #expect(self.images(of: volume, "a") == [[1, 2, 3]], "seed \(seed)")
        }
        #expect(losses > 50)
    }

    @Test func `a full disk accepts part of a write and has room after a removal`() throws {
        for seed in 0..<50 as Range<UInt64> {
            let volume = SimulatedVolume(
                seed: seed, files: ["old": [UInt8](repeating: 0, count: 600)])
            volume.quota = 1_000
            let file = try volume.open("a", .create)
            #expect(code { try file.writeFully(bytes, at: 0) } == .noSpace, "seed \(seed)")
            let part = try file.size()
            #expect(part <= 400, "seed \(seed)")
            #expect(try file.readFully(part, at: 0) == Array(bytes.prefix(part)), "seed \(seed)")
            #expect(code { try file.truncate(to: 1_000) } == .noSpace, "seed \(seed)")
            // Existing bytes can be overwritten.
            try file.writeFully([UInt8](repeating: 9, count: part), at: 0)
            let reader = try volume.open("old", .read)
            try volume.remove("old")
            #expect(code { try file.writeFully(bytes, at: 0) } == .noSpace, "seed \(seed)")
            reader.close()
            try file.writeFully(bytes, at: 0)
            #expect(code { try volume.write([1], to: "b") } == .noSpace, "seed \(seed)")
            volume.quota = 1_001
            try volume.write([1], to: "c")
        }
    }

    @Test func `a disk that ignores flushes may lose flushed data`() throws {
        let volume = SimulatedVolume(files: ["a": [0]])
        volume.ignoresDataFlushes = true
        volume.ignoresDirectoryFlushes = true
        let file = try volume.open("a", .write)
        try file.writeFully([1], at: 0)
        try file.synchronize()
        try volume.write([2], to: "b")
        try volume.synchronizeNames()
        #expect(images(of: volume, "a") == [[0], [1]])
        #expect(images(of: volume, "b").contains(nil))
        volume.ignoresDirectoryFlushes = false
        try volume.synchronizeNames()
        #expect(!images(of: volume, "b").contains(nil))
        volume.ignoresDataFlushes = false
        try file.synchronize()
        #expect(images(of: volume, "a") == [[1]])
    }
}
