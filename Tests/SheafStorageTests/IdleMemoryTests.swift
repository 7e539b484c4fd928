import SheafStorage
import SheafSystem
import SheafTestSupport
import Testing

/// Buffers of large commits, which an idle store releases.
struct IdleMemoryTests {
    private static func batch(_ number: UInt8, length: Int) throws -> WriteBatch {
        var batch = WriteBatch()
        try batch.put([number], [UInt8](repeating: number, count: length))
        return batch
    }

    /// Returns the length of the payload that a key has.
    private static func length(_ number: UInt8, in snapshot: LogSnapshot) throws -> Int? {
        try [number].span.withUnsafeBytes { try snapshot.payload(of: $0)?.count }
    }

    @Test func `buffers of large commits are released, and grow again`() throws {
        let engine = try StoreEngine(opening: SimulatedVolume(seed: 1))
        let atFirst = engine.bufferLength
        for round in UInt8(1)...3 {
            _ = try engine.append(Self.batch(round, length: 3 << 20))
            try engine.flush()
            // Records that wait for a flush keep their memory.
            _ = try engine.append(Self.batch(100 + round, length: 2 << 20))
            engine.releaseBuffers()
            #expect(engine.bufferLength > 2 << 20)
            try engine.flush()
            engine.releaseBuffers()
            #expect(engine.bufferLength == atFirst)
            #expect(try Self.length(round, in: engine.snapshot()) == 3 << 20)
            #expect(try Self.length(100 + round, in: engine.snapshot()) == 2 << 20)
        }
        try engine.close()
    }

    @Test func `small buffers are kept`() throws {
        let engine = try StoreEngine(opening: SimulatedVolume(seed: 2))
        _ = try engine.append(Self.batch(1, length: 200_000))
        try engine.flush()
        let before = engine.bufferLength
        engine.releaseBuffers()
        #expect(engine.bufferLength == before)
        #expect(before > 200_000)
        try engine.close()
    }

    @Test func `a buffer grows to twice its length, and from a mebibyte on to its usual length`()
        throws
    {
        for (length, expected) in [
            (65_536, 65_536), (65_544, 131_072), (131_080, 131_080), (1_048_576, 1_048_576),
            (1_048_584, 8_388_608), (8_388_608, 8_388_608), (8_388_616, 8_388_616),
        ] as [(Int, Int)] {
            let engine = try StoreEngine(opening: SimulatedVolume(seed: 4))
            #expect(engine.bufferLength == 2 * 65_536)
            // The headers of the segment, the record and the operation, and the key.
            _ = try engine.append(Self.batch(1, length: length - 128 - 64 - 20 - 1))
            #expect(engine.pendingLength == length)
            // The other buffer is as long as at first.
            #expect(engine.bufferLength == expected + 65_536, "\(length)")
        }
    }

    @Test func `buffers of more than a mebibyte are released`() throws {
        for (length, kept) in [(1_048_576, 1_048_576), (1_048_584, 65_536)] as [(Int, Int)] {
            let engine = try StoreEngine(opening: SimulatedVolume(seed: 5))
            _ = try engine.append(Self.batch(1, length: length - 128 - 64 - 20 - 1))
            try engine.flush()
            engine.releaseBuffers()
            #expect(engine.bufferLength == kept + 65_536, "\(length)")
            try engine.close()
        }
    }

    @Test func `an idle store releases the buffers of a large commit`() async throws {
        var options = LogStoreOptions()
        options.idleMilliseconds = 20
        options.segmentLength = 1 << 20
        let store = try LogStore(volume: SimulatedVolume(seed: 3), options: options)
        let atFirst = store.engine.bufferLength
        for round in UInt8(1)...3 {
            _ = try store.append(Self.batch(round, length: 3 << 20))
            try store.flush()
            let end = Clock.system.monotonicNanoseconds() + 300_000_000_000
            while store.engine.bufferLength != atFirst, Clock.system.monotonicNanoseconds() < end {
                await Task.yield()
            }
            #expect(store.engine.bufferLength == atFirst)
            #expect(try Self.length(round, in: store.snapshot()) == 3 << 20)
        }
        try store.close()
    }
}
