import SheafBytes
import SheafDocument
import Testing

/// The pauses that a store remembers of its site.
struct WritePauseTests {
    private func pause(_ start: UInt64, length: UInt64) throws -> WritePause {
        try #require(
            WritePause(
                after: HybridTime(rawValue: start), before: HybridTime(rawValue: start + length)))
    }

    @Test func `of more pauses than a store remembers the longest stay, in their order`() throws {
        let lengths: [UInt64] = [9, 40, 3, 25, 8, 90, 12, 61, 5, 33, 77, 18, 50, 2, 29, 66]
        var pauses: [WritePause] = []
        for (number, length) in lengths.enumerated() {
            pauses.add(try pause(UInt64(number) * 1_000, length: length))
        }
        #expect(pauses.count == 16 && WritePause.maximumCount == 16)
        // Each is longer than the shortest so far, which goes.
        for (number, length) in [(16, 10), (17, 11), (18, 100)] {
            pauses.add(try pause(UInt64(number) * 1_000, length: UInt64(length)))
        }
        // One that is shorter than all others goes at once.
        pauses.add(try pause(19_000, length: 2))
        let kept = pauses.map { $0.before.rawValue - $0.after.rawValue }
        #expect(kept == [9, 40, 25, 8, 90, 12, 61, 33, 77, 18, 50, 29, 66, 10, 11, 100])
        #expect(pauses == pauses.sorted { $0.after < $1.after })
    }

    @Test func `a record of a site with more pauses than a store remembers is refused`() throws {
        for count in [16, 17] {
            let pauses = try (0..<count).map { try pause(UInt64($0) * 1_000, length: 10) }
            let record = SiteRecord(site: Site(rawValue: 1), directory: 0, pauses: pauses)
            let decoded = try? record.bytes.span.withUnsafeBytes { (bytes) throws(Malformed) in
                try SiteRecord(decoding: bytes)
            }
            #expect(decoded == (count == 16 ? record : nil))
        }
    }

    @Test func `no pause is between times that follow each other`() {
        let times = (0...2).map { HybridTime(rawValue: 7 + $0) }
        #expect(WritePause(after: times[0], before: times[0]) == nil)
        #expect(WritePause(after: times[1], before: times[0]) == nil)
        #expect(WritePause(after: times[0], before: times[1]) == nil)
        let pause = WritePause(after: times[0], before: times[2])
        #expect(times.map { pause?.contains($0) } == [false, true, false])
    }
}
