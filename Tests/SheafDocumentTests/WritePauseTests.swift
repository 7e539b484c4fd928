import SheafBytes
import SheafDocument
import Testing

/// The write pauses that a store records for its site.
struct WritePauseTests {
    private func pause(_ start: UInt64, length: UInt64) throws -> WritePause {
        try #require(
            WritePause(
                after: HybridTime(rawValue: start), before: HybridTime(rawValue: start + length)))
    }

    @Test func `a store keeps its longest pauses in order`() throws {
        let lengths: [UInt64] = [9, 40, 3, 25, 8, 90, 12, 61, 5, 33, 77, 18, 50, 2, 29, 66]
        var pauses: [WritePause] = []
        for (number, length) in lengths.enumerated() {
            pauses.add(try pause(UInt64(number) * 1_000, length: length))
        }
        #expect(pauses.count == 16 && WritePause.maximumCount == 16)
        // Each is longer than the shortest pause so far and replaces it.
        for (number, length) in [(16, 10), (17, 11), (18, 100)] {
            pauses.add(try pause(UInt64(number) * 1_000, length: UInt64(length)))
        }
        // A pause shorter than all others is dropped immediately.
        pauses.add(try pause(19_000, length: 2))
        let kept = pauses.map { $0.before.rawValue - $0.after.rawValue }
        #expect(kept == [9, 40, 25, 8, 90, 12, 61, 33, 77, 18, 50, 29, 66, 10, 11, 100])
        #expect(pauses == pauses.sorted { $0.after < $1.after })
    }

    @Test func `a site record with more than 16 pauses is refused`() throws {
        for count in [16, 17] {
            let pauses = try (0..<count).map { try pause(UInt64($0) * 1_000, length: 10) }
            let record = SiteRecord(site: Site(rawValue: 1), directory: 0, pauses: pauses)
            let decoded = try? record.bytes.span.withUnsafeBytes { (bytes) throws(Malformed) in
                try SiteRecord(decoding: bytes)
            }
            #expect(decoded == (count == 16 ? record : nil))
        }
    }

    @Test func `a write pause contains only times between its ends, and at least one`() {
        let times = (0...2).map { HybridTime(rawValue: 7 + $0) }
        #expect(WritePause(after: times[0], before: times[0]) == nil)
        #expect(WritePause(after: times[1], before: times[0]) == nil)
        #expect(WritePause(after: times[0], before: times[1]) == nil)
        let pause = WritePause(after: times[0], before: times[2])
        #expect(times.map { pause?.contains($0) } == [false, true, false])
    }
}
