import SheafStorage
import SheafTestSupport
import Testing

/// The simulated volume as a volume, and its simulated crashes.
@Suite struct SimulatedVolumeTests {
    /// Performs eight calls that change the disk.
    private func work(on volume: SimulatedVolume) throws {
        let file = try volume.open("new", .create)
        try file.writeFully([1, 2, 3, 4], at: 0)
        try file.synchronize()
        try volume.rename("new", to: "b")
        try volume.synchronizeNames()
        try file.truncate(to: 2)
        try volume.remove("a")
        try volume.synchronizeNames()
    }

    @Test func `a crash fails the requested call and all later ones`() throws {
        let complete = SimulatedVolume(files: ["a": [0]])
        try work(on: complete)
        #expect(complete.counters.mutating == 8)
        for call in 1...8 {
            let volume = SimulatedVolume(seed: UInt64(call), files: ["a": [0]])
            let earlier = try volume.open("a", .write)
            volume.crashAtCall(call)
            #expect(code { try work(on: volume) } == .powerCut, "call \(call)")
            #expect(volume.isPowerCut)
            #expect(volume.counters.mutating == call)
            for attempt in [
                { _ = try earlier.readFully(1, at: 0) }, { _ = try volume.names() },
                { _ = try earlier.size() }, { try earlier.synchronize() },
                { _ = try volume.open("a", .read) }, { _ = try volume.lock() },
            ] as [() throws -> Void] {
                #expect(code(attempt) == .powerCut, "call \(call)")
            }
            let image = volume.powerCut(seed: 1)
            #expect(try image.names().count <= 2)
        }
        let volume = SimulatedVolume(files: ["a": [0]])
        volume.crashAtCall(9)
        try work(on: volume)
    }

    @Test func `the crashing call has no effect, a partial or a complete one`() throws {
        var written: Set<[UInt8]> = []
        var names: Set<[String]> = []
        for seed in 0..<200 as Range<UInt64> {
            let write = SimulatedVolume(seed: seed, files: ["a": []])
            write.crashAtCall(1)
            let file = try write.open("a", .write)
            #expect(code { try file.writeFully([1, 2], at: 0) } == .powerCut)
            written.formUnion(write.snapshotFiles().values)
            let rename = SimulatedVolume(seed: seed, files: ["a": []])
            rename.crashAtCall(1)
            #expect(code { try rename.rename("a", to: "b") } == .powerCut)
            names.insert(rename.snapshotFiles().keys.sorted())
        }
        #expect(written == [[], [1], [1, 2]])
        #expect(names == [["a"], ["b"]])
    }

    @Test func `a shared mapping shows later writes, even if the file outgrows it`() throws {
        let volume = SimulatedVolume(files: ["a": [1, 2, 3]])
        let file = try volume.open("a", .write)
        let mapping = try file.map(length: 64, .shared)
        #expect(mapping.array() == [1, 2, 3] + [UInt8](repeating: 0, count: 61))
        try file.writeFully([4, 5], at: 3)
        let address = mapping.base
        #expect(try file.map(length: 64, .shared).base == address)
        try file.writeFully(SeededRandom.someBytes(10_000), at: 5)
        try file.writeFully([9], at: 0)
        #expect(mapping.array(5) == [9, 2, 3, 4, 5])
        #expect(Array(mapping.array()[5...]) == Array(SeededRandom.someBytes(59)))
        try file.truncate(to: 2)
        #expect(mapping.array() == [9, 2] + [UInt8](repeating: 0, count: 62))
        file.close()
        try volume.remove("a")
        #expect(mapping.array(1).first == 9)
    }

    @Test func `a copy-on-write mapping is a copy`() throws {
        let volume = SimulatedVolume(files: ["a": [1, 2, 3]])
        let file = try volume.open("a", .write)
        let mapping = try file.map(length: 8, .copyOnWrite)
        mapping.base.storeBytes(of: 7, as: UInt8.self)
        try file.writeFully([8], at: 1)
        #expect(mapping.array() == [7, 2, 3, 0, 0, 0, 0, 0])
        #expect(volume.snapshotFiles() == ["a": [1, 8, 3]])
        #expect(try file.map(length: 0, .shared).array().isEmpty)
    }

    @Test func `the lock excludes others, and is free after its release`() throws {
        let volume = SimulatedVolume()
        volume.processIdentifier = 99
        guard case .acquired(let writer) = try volume.lock(), case .held(99) = try volume.lock()
        else {
            Issue.record("The lock does not exclude.")
            return
        }
        writer.release()
        writer.release()
        guard case .acquired = try volume.lock() else {
            Issue.record("The lock is not free.")
            return
        }
    }

    @Test func `calls are counted, and the last ones are traced`() throws {
        let volume = SimulatedVolume(files: ["a": [1]])
        #expect(volume.trace == "")
        volume.startTrace()
        let file = try volume.open("a", .write)
        try file.writeFully([1, 2, 3], at: 4)
        volume.inject(SimulatedFault(.error(.inputOutput), of: .synchronize))
        #expect(code { try file.synchronize() } == .inputOutput)
        #expect(
            volume.trace == """
                1: open a
                2: write a 3 bytes at 4
                3: synchronize a -> Input/output error
                """)
        #expect(volume.counters.total == 3)
        #expect(volume.counters.mutating == 2)
        #expect(volume.counters[.write] == 1)
        #expect(volume.counters[.read] == 0)
        #expect(volume.counters.bytesWritten == 3)
        for _ in 0..<1_000 { _ = try file.size() }
        #expect(volume.trace.split(separator: "\n").count == 200)
    }

    @Test func `a trace may start after more calls than it has`() throws {
        let volume = SimulatedVolume(files: ["a": [1]])
        let file = try volume.open("a", .write)
        for _ in 0..<300 { _ = try file.size() }
        volume.startTrace()
        try file.writeFully([1], at: 0)
        #expect(volume.trace == "302: write a 1 bytes at 0")
    }

    @Test func `a volume survives an export to a directory and an import`() throws {
        let files = ["a": SeededRandom.someBytes(5_000), "b": []]
        let directory = TemporaryDirectory()
        try SimulatedVolume(files: files).export(to: directory.path("copy"))
        let volume = try SimulatedVolume(importing: directory.path("copy"))
        #expect(volume.snapshotFiles() == files)
        #expect(volume.powerCut(seed: 1).snapshotFiles() == files)
    }

    @Test func `corruption affects memory and disk`() throws {
        let old = Array(0..<16 as Range<UInt8>)
        let cases: [(SimulatedCorruption, [UInt8]?)] = [
            (.flipBit(at: 3, bit: 7), Array(old[..<3]) + [131] + old[4...]),
            (.overwrite(at: 14, with: [7, 8, 9]), Array(old[..<14]) + [7, 8]),
            (.zero(at: 2, count: 2), [0, 1, 0, 0] + old[4...]),
            (.swapBlocks(0, 3, size: 4), Array(old[12...] + old[4..<12] + old[..<4])),
            (.truncate(to: 5), Array(old[..<5])),
            (.append([1, 2]), old + [1, 2]),
            (
                .copyBlock(source: 1, of: "b", to: 2, size: 4),
                Array(old[..<8]) + [104, 105, 106, 107] + old[12...]
            ),
            (.delete, nil),
        ]
        for (corruption, expected) in cases {
            for isDirty in [false, true] {
                let volume = SimulatedVolume(files: ["a": old, "b": Array(100..<116)])
                let file = try volume.open("a", .write)
                let mapping = try file.map(length: 16, .shared)
                if isDirty {
                    try file.writeFully(old, at: 0)
                    try file.synchronize()
                }
                let image = volume.powerCut(seed: 1)
                volume.corrupt("a", corruption)
                #expect(volume.snapshotFiles()["a"] == expected, "\(corruption)")
                #expect(volume.powerCut(seed: 1).snapshotFiles()["a"] == expected, "\(corruption)")
                #expect(image.snapshotFiles()["a"] == old, "\(corruption)")
                if let expected {
                    #expect(
                        mapping.array(expected.count) == Array(expected.prefix(16)),
                        "\(corruption)")
                }
            }
        }
    }
}
