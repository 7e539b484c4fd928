import SheafBytes
import SheafSync
import SheafTestSupport
import Testing

struct FrameTests {
    private func frames(_ random: inout SeededRandom) -> [Frame] {
        (0..<random.below(20)).map { _ in
            let type = FrameType.allCases[random.below(FrameType.allCases.count)]
            return Frame(type, (0..<random.below(300)).map { _ in UInt8(random.below(256)) })
        }
    }

    private func bytes(of frames: [Frame]) -> [UInt8] {
        var writer = FrameWriter()
        return frames.flatMap { writer.bytes(of: $0) }
    }

    /// Reads bytes in chunks of random length.
    private func read(
        _ bytes: [UInt8], limit: Int = SyncLimits.greetingLength, _ random: inout SeededRandom
    ) throws -> [Frame] {
        var reader = FrameReader(limit: limit)
        var (frames, start): ([Frame], Int) = ([], 0)
        while start < bytes.count {
            let end = min(start + 1 + random.below(64), bytes.count)
            bytes[start..<end].withUnsafeBytes { reader.append($0) }
            start = end
            while let frame = try reader.next() { frames.append(frame) }
            // The buffer never exceeds one frame, whatever length its header announces.
            #expect(reader.waitingLength <= limit + 8)
        }
        return frames
    }

    @Test func `frames are read as they were written, in chunks of any length`() throws {
        let seed = UInt64.random(in: 0..<1_000_000_000)
        print("frames, seed \(seed)")
        var random = SeededRandom(seed: seed, "frames")
        for _ in 0..<300 {
            let frames = frames(&random)
            #expect(try read(bytes(of: frames), &random) == frames)
        }
    }

    @Test func `a damaged, missing, repeated or swapped frame is detected`() throws {
        let seed = UInt64.random(in: 0..<1_000_000_000)
        print("damaged frames, seed \(seed)")
        var random = SeededRandom(seed: seed, "damaged frames")
        for _ in 0..<600 {
            var writer = FrameWriter()
            var pieces = (frames(&random) + [Frame(.ping, [1, 2, 3])]).map { writer.bytes(of: $0) }
            let sound = pieces.flatMap { $0 }
            let index = random.below(pieces.count)
            switch random.below(4) {
            case 0: pieces[index][random.below(pieces[index].count)] ^= UInt8(1 << random.below(8))
            case 1 where index < pieces.count - 1: pieces.remove(at: index)
            case 2: pieces.insert(pieces[index], at: index)
            case 3 where index > 0: pieces.swapAt(index, index - 1)
            default: continue
            }
            let bytes = pieces.flatMap { $0 }
            guard bytes != sound else { continue }
            let read = try? read(bytes + Array(repeating: 0, count: 5_000), &random)
            #expect(read == nil)
        }
    }

    @Test func `a frame above the limit is refused before its body arrives`() {
        var reader = FrameReader(limit: 100)
        let bytes: [UInt8] = [101, 0, 0, 0]
        bytes.withUnsafeBytes { reader.append($0) }
        #expect(throws: WireError.frameTooLong(length: 101, limit: 100)) { try reader.next() }
    }

    @Test func `the error of a frame names its number, its type or its length`() {
        func error(of bytes: [UInt8], limit: Int = 100) -> WireError? {
            var reader = FrameReader(limit: limit)
            bytes.withUnsafeBytes { reader.append($0) }
            do throws(WireError) {
                while try reader.next() != nil {}
                return nil
            } catch {
                return error
            }
        }
        var writer = FrameWriter()
        let pings = (0..<3).flatMap { _ in writer.bytes(of: Frame(.ping, [7])) }
        #expect(pings.count == 30)
        #expect(error(of: pings) == nil)
        #expect(error(of: pings, limit: 2) == nil)
        #expect(error(of: pings, limit: 1) == .frameTooLong(length: 2, limit: 1))
        #expect(error(of: Array(pings.dropLast()) + [8]) == .checksum(frame: 2))
        #expect(error(of: Array(pings.dropFirst(10))) == .checksum(frame: 0))
        #expect(error(of: [0, 0, 0]) == nil)
        #expect(error(of: [0, 0, 0, 0]) == .frameEmpty)
        let type: [UInt8] = [99]
        var unknown = ByteWriter()
        unknown.write(UInt32(1))
        unknown.write(UInt32(truncatingIfNeeded: type.withUnsafeBytes { XXH3.hash64($0) }))
        unknown.write(type)
        #expect(error(of: unknown.bytes) == .unknownType(99))
        let texts = [WireError.frameEmpty, .checksum(frame: 2), .unknownType(99)].map { "\($0)" }
        #expect(
            texts == [
                "a frame has no type", "checksum mismatch in frame 2", "unknown frame type 99",
            ])
    }

    @Test func `segments are expanded in order and share one compression window`() throws {
        let seed = UInt64.random(in: 0..<1_000_000_000)
        print("segments, seed \(seed)")
        var random = SeededRandom(seed: seed, "segments")
        var (writer, reader) = (ShippedSegmentWriter(), ShippedSegmentReader())
        var (raws, sent) = (0, 0)
        for number in 0..<400 {
            let length = random.chance(1, in: 20) ? random.below(200_000) : random.below(400)
            let text = "{\"_id\":\"car-\(number)\",\"make\":\"make \(random.below(9))\"}"
            let raw = Array(String(repeating: text, count: length / text.utf8.count + 1).utf8)
            let bytes = writer.bytes(of: raw)
            (raws, sent) = (raws + raw.count, sent + bytes.count)
            #expect(try bytes.withUnsafeBytes { try reader.raw(of: $0) } == raw)
        }
        // Without a shared window, the segments would be longer.
        #expect(sent < raws / 20)
    }

    @Test func `a segment that announces an excessive length is refused`() {
        var reader = ShippedSegmentReader()
        let bytes: [UInt8] = [0xFF, 0xFF, 0xFF, 0xFF, 0x0F, 1, 2, 3]
        #expect(throws: (any Error).self) { try bytes.withUnsafeBytes { try reader.raw(of: $0) } }
    }
}
