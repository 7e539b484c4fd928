import SheafSimulator
import SheafStorage
import SheafSystem
import SheafTestSupport
import Synchronization
import Testing

/// The files of segments, filled with zeros before they are needed.
@Suite struct SegmentPreparationTests {
    private static let segmentLength = 8 << 10

    private func engine(
        _ volume: any Volume, clock: Clock = .system, segmentLength: Int = Self.segmentLength
    ) throws -> StoreEngine {
        var options = LogStoreOptions()
        options.segmentLength = segmentLength
        options.clock = clock
        return try StoreEngine(opening: volume, options: options)
    }

    private func append(_ count: Int, to engine: StoreEngine, length: Int = 1_000) throws {
        for _ in 0..<count {
            var batch = WriteBatch()
            try batch.put([1], [UInt8](repeating: 7, count: length))
            _ = try engine.append(batch)
        }
    }

    private func size(of name: String, in volume: SimulatedVolume) throws -> Int {
        let file = try volume.open(name, .read)
        defer { file.close() }
        return try file.size()
    }

    @Test func `a prepared segment is used although its records were pending before`() throws {
        let volume = SimulatedVolume()
        let engine = try engine(volume)
        try append(1, to: engine)
        try engine.flush()
        try engine.prepareNextSegment()
        #expect(try size(of: "0000000002.log", in: volume) == Self.segmentLength)
        // These records begin the second segment, whose file the next flush takes.
        try append(10, to: engine)
        try engine.prepareNextSegment()
        try engine.flush()
        #expect(try size(of: "0000000002.log", in: volume) == Self.segmentLength)
        #expect(throws: VolumeError.self) { try size(of: "0000000003.log", in: volume) }
        try engine.prepareNextSegment()
        #expect(try size(of: "0000000003.log", in: volume) == Self.segmentLength)
        try engine.close()
        #expect(throws: VolumeError.self) { try size(of: "0000000003.log", in: volume) }
    }

    @Test func `no segment is prepared before the first commit`() throws {
        let volume = SimulatedVolume()
        let engine = try engine(volume)
        try engine.prepareNextSegment()
        try append(1, to: engine)
        try engine.prepareNextSegment()
        #expect(try volume.names().filter { $0.hasSuffix(".log") } == [])
        try engine.close()
    }

    @Test func `a segment is written after a file of its name could not be removed`() throws {
        let volume = SimulatedVolume()
        let engine = try engine(volume)
        try append(1, to: engine)
        try engine.flush()
        for operation in [VolumeError.Operation.synchronizeNames, .remove] {
            volume.inject(SimulatedFault(.error(.noSpace), of: operation, forEver: true))
        }
        #expect(throws: StorageError.self) { try engine.prepareNextSegment() }
        #expect(try volume.names().contains("0000000002.log"))
        volume.removeFaults()
        try append(10, to: engine)
        try engine.flush()
        try engine.prepareNextSegment()
        #expect(try volume.names().contains("0000000003.log"))
        try engine.close()
        let reopened = try self.engine(volume)
        #expect(reopened.snapshot().commit == 11)
        try reopened.close()
    }

    /// Returns the lengths of the slices that fill a segment of a mebibyte.
    ///
    /// `duration` is the time in nanoseconds that the disk needs for a slice of some length.
    private func slices(duration: @escaping (Int) -> UInt64) throws -> [Int] {
        let volume = SimulatedVolume()
        let time = Mutex<UInt64>(0)
        var (slices, filled) = ([Int](), 0)
        let observed = ObservedVolume(volume) {
            // Before each sync of a slice, the file is longer by its length.
            guard let size = try? size(of: "0000000002.log", in: volume), size > filled else {
                return
            }
            slices.append(size - filled)
            time.withLock { $0 += duration(size - filled) }
            filled = size
        }
        let clock = Clock(
            wallMilliseconds: { 1_780_000_000_000 }, monotonicNanoseconds: { time.withLock { $0 } })
        let engine = try engine(observed, clock: clock, segmentLength: 1 << 20)
        try append(1, to: engine)
        try engine.flush()
        try engine.prepareNextSegment()
        let result = slices
        try engine.close()
        #expect(result.reduce(0, +) == 1 << 20)
        return result
    }

    @Test func `slices become longer while each of them takes the same time`() throws {
        let lengths = try slices { _ in 200_000 }
        #expect(lengths.prefix(5).map { $0 >> 10 } == [32, 64, 128, 256, 256])
        #expect(lengths.count == 7)
    }

    @Test func `a slice takes at most about twice the time of the shortest one`() throws {
        #expect(try slices { UInt64($0) * 30 }.allSatisfy { $0 <= 64 << 10 })
        // A disk that slows down while a segment is filled.
        var number = 0
        let lengths = try slices { length in
            number += 1
            return number < 4 ? 200_000 : UInt64(length) * 30
        }
        #expect(lengths.max() == 256 << 10)
        #expect(lengths.suffix(4).allSatisfy { $0 == 32 << 10 })
    }
}
