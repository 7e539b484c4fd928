import SheafStorage
import SheafTestSupport
import Testing

/// The effect of a power cut on unsynchronized changes.
@Suite struct SimulatedPowerCutTests {
    private let seeds: Range<UInt64> = 0..<2_000

    /// Returns a volume with one durable file of `old` bytes.
    private func volume(_ old: [UInt8] = [], seed: UInt64 = 1) -> SimulatedVolume {
        SimulatedVolume(seed: seed, files: ["a": old])
    }

    /// Returns the contents of the file in many images.
    private func images(of volume: SimulatedVolume, _ name: String = "a") -> [[UInt8]?] {
        seeds.map { volume.powerCut(seed: $0).snapshotFiles()[name] }
    }

    @Test func `synchronized bytes are in every image`() throws {
        let volume = SimulatedVolume(seed: 1)
        let file = try volume.open("a", .create)
        let bytes = SeededRandom.someBytes(5_000)
        try file.writeFully(bytes, at: 0)
        try file.synchronize()
        try volume.synchronizeNames()
        try file.writeFully([1, 2, 3], at: 5_000)
        for seed in seeds {
            let image = volume.powerCut(seed: seed)
            let survived = image.snapshotFiles()["a"]
            #expect(survived?.starts(with: bytes) == true, "seed \(seed)")
            #expect(image.powerCut(seed: seed).snapshotFiles()["a"] == survived, "seed \(seed)")
        }
    }

    @Test func `unsynchronized bytes are lost, kept, or kept in part`() throws {
        let volume = volume([0, 0, 0, 0])
        try volume.open("a", .write).writeFully([1, 2, 3, 4], at: 0)
        let images = images(of: volume)
        for expected: [UInt8] in [[0, 0, 0, 0], [1, 2, 3, 4], [1, 0, 0, 0], [1, 2, 3, 0]] {
            #expect(images.contains(expected), "\(expected)")
        }
        #expect(images.count { $0 == [0, 0, 0, 0] } > seeds.count / 4)
        #expect(images.count { $0 == [1, 2, 3, 4] } > seeds.count / 4)
    }

    @Test func `a later write may be kept without an earlier one`() throws {
        let volume = volume([0, 0])
        let file = try volume.open("a", .write)
        try file.writeFully([1], at: 0)
        try file.writeFully([2], at: 1)
        let images = Set(images(of: volume))
        #expect(images == [[0, 0], [1, 0], [0, 2], [1, 2]])
    }

    @Test func `a write is torn at sectors, at blocks or at single bytes`() throws {
        let count = 2 * 4_096
        let volume = volume([UInt8](repeating: 0, count: count))
        try volume.open("a", .write).writeFully([UInt8](repeating: 1, count: count), at: 0)
        var holes = (sectors: 0, blocks: 0, bytes: 0)
        for seed in 0..<400 as Range<UInt64> {
            let image = volume.powerCut(seed: seed).snapshotFiles()["a"] ?? []
            #expect(image.count == count, "seed \(seed)")
            let changes = (1..<count).filter { image[$0] != image[$0 - 1] }
            guard !changes.isEmpty else { continue }
            if changes.allSatisfy({ $0 % 4_096 == 0 }) {
                holes.blocks += 1
            } else if changes.allSatisfy({ $0 % 512 == 0 }) {
                holes.sectors += 1
            } else {
                #expect(changes.count == 1)
                holes.bytes += 1
            }
        }
        #expect(holes.sectors > 5 && holes.blocks > 5 && holes.bytes > 5, "\(holes)")
    }

    @Test func `sector boundaries are those of the file, not of the write`() throws {
        let volume = volume([UInt8](repeating: 0, count: 2_000))
        try volume.open("a", .write).writeFully([UInt8](repeating: 1, count: 1_000), at: 300)
        let starts = Set(images(of: volume).compactMap { $0?.firstIndex(of: 1) })
        #expect(starts.isSuperset(of: [300, 512, 1_024]))
    }

    @Test func `a new size may be kept without its data, with zeros or garbage, or be lost`() throws
    {
        let volume = volume([5, 5])
        try volume.open("a", .write).writeFully([UInt8](repeating: 7, count: 64), at: 2)
        let images = images(of: volume)
        #expect(images.contains([5, 5]))
        #expect(images.contains([5, 5] + [UInt8](repeating: 0, count: 64)))
        let garbage = images.count { image in
            guard let image, image.count == 66 else { return false }
            return !image[2...].contains(0) && Set(image[2...]).count > 20
        }
        #expect(garbage > 5)
        #expect(images.allSatisfy { $0?.starts(with: [5, 5]) == true })
    }

    @Test func `a truncation may be lost`() throws {
        let volume = volume([1, 2, 3])
        try volume.open("a", .write).truncate(to: 1)
        #expect(Set(images(of: volume)) == [[1], [1, 2, 3]])
        let longer = self.volume([1])
        try longer.open("a", .write).truncate(to: 3)
        #expect(Set(images(of: longer)) == [[1], [1, 0, 0]])
    }

    @Test func `the name of a synchronized file may be lost together with the file`() throws {
        let volume = SimulatedVolume(seed: 1)
        let file = try volume.open("new", .create)
        try file.writeFully([1, 2], at: 0)
        try file.synchronize()
        #expect(Set(images(of: volume, "new")) == [nil, [1, 2]])
        try volume.synchronizeNames()
        #expect(Set(images(of: volume, "new")) == [[1, 2]])
    }

    @Test func `a synchronized name does not imply synchronized data`() throws {
        let volume = SimulatedVolume(seed: 1)
        try volume.write([1, 2], to: "new")
        try volume.synchronizeNames()
        let images = images(of: volume, "new")
        #expect(images.contains([]) && images.contains([1, 2]) && !images.contains(nil))
    }

    @Test func `a removed name may reappear until names are synchronized`() throws {
        let volume = volume([1])
        try volume.remove("a")
        #expect(Set(images(of: volume)) == [nil, [1]])
        try volume.synchronizeNames()
        #expect(Set(images(of: volume)) == [nil])
    }

    @Test func `a rename is atomic and never loses both names`() throws {
        let volume = SimulatedVolume(seed: 1, files: ["new": [2], "old": [1]])
        try volume.rename("new", to: "old")
        let images = Set(seeds.map { volume.powerCut(seed: $0).snapshotFiles() })
        #expect(images == [["new": [2], "old": [1]], ["old": [2]]])
    }

    @Test func `name changes are lost in any combination`() throws {
        let volume = SimulatedVolume(seed: 1)
        for name in ["a", "b", "c"] { try volume.write([], to: name) }
        let images = Set(seeds.map { volume.powerCut(seed: $0).snapshotFiles().keys.sorted() })
        #expect(
            images == [
                [], ["a"], ["b"], ["c"], ["a", "b"], ["a", "c"], ["b", "c"], ["a", "b", "c"],
            ])
    }

    @Test func `a file never has two names, whichever renames are kept`() throws {
        let volume = SimulatedVolume(seed: 1, files: ["a": [1]])
        try volume.rename("a", to: "b")
        try volume.rename("b", to: "c")
        try volume.rename("c", to: "a")
        for seed in seeds {
            #expect(volume.powerCut(seed: seed).snapshotFiles().count == 1, "seed \(seed)")
        }
    }

    @Test func `a quarter of the images keep nothing, and a quarter keep everything`() throws {
        let volume = SimulatedVolume(seed: 1, files: ["a": []])
        let file = try volume.open("a", .write)
        for number in 0..<20 { try file.writeFully([1], at: number) }
        for number in 0..<20 { try volume.write([2], to: "\(number)") }
        let everything = volume.snapshotFiles()
        let images = seeds.map { volume.powerCut(seed: $0).snapshotFiles() }
        for extreme in [["a": []], everything] {
            let share = images.count { $0 == extreme }
            #expect((seeds.count / 5..<seeds.count * 3 / 10).contains(share))
        }
    }

    @Test func `images depend on the seed only`() throws {
        let volume = volume([UInt8](repeating: 0, count: 3_000))
        let file = try volume.open("a", .write)
        for number in 0..<30 {
            try file.writeFully([UInt8](repeating: UInt8(number), count: 700), at: number * 90)
        }
        let images = seeds.map { volume.powerCut(seed: $0).snapshotFiles() }
        #expect(images == seeds.map { volume.powerCut(seed: $0).snapshotFiles() })
        #expect(Set(images).count > seeds.count / 3)
    }

    @Test func `an image is an independent volume without locks`() throws {
        let volume = volume([1, 2, 3])
        let outcome = try volume.lock()
        let image = volume.powerCut(seed: 3)
        guard case .acquired = outcome, case .acquired = try image.lock() else {
            Issue.record("The power cut did not release the lock.")
            return
        }
        try image.open("a", .write).writeFully([9], at: 0)
        try volume.open("a", .write).writeFully([8], at: 1)
        #expect(volume.snapshotFiles() == ["a": [1, 8, 3]])
        #expect(image.snapshotFiles() == ["a": [9, 2, 3]])
        #expect(volume.powerCut(seed: 3).snapshotFiles()["a"]?.first == 1)
    }

    @Test func `a process crash loses nothing, but leaves unsynchronized changes at risk`() throws {
        let volume = volume([0])
        try volume.open("a", .write).writeFully([1], at: 0)
        try volume.write([2], to: "b")
        let next = volume.processDeath()
        #expect(next.snapshotFiles() == ["a": [1], "b": [2]])
        #expect(Set(images(of: next)) == [[0], [1]])
        try next.open("a", .write).synchronize()
        #expect(Set(images(of: next)) == [[1]])
        #expect(Set(images(of: volume)) == [[0], [1]])
    }
}

extension SeededRandom {
    /// Returns bytes that are the same in every run.
    static func someBytes(_ count: Int, seed: UInt64 = 7) -> [UInt8] {
        var random = SeededRandom(seed: seed, "bytes")
        return random.bytes(count)
    }
}
