import Sheaf
import SheafAttachments
import SheafTestSupport
import Testing

@Suite struct ChunkSetTests {
    @Test func `a set of chunks behaves like a set of integers`() {
        let seed: UInt64 = 41
        var random = SeededRandom(seed: seed, "chunks")
        for round in 0..<200 {
            let count = random.below(40)
            var set = ChunkSet(count: count)
            var model = Set<Int>()
            for _ in 0..<random.below(60) where count > 0 {
                let chunk = random.below(count)
                if random.chance(1, in: 4) {
                    set.remove(chunk)
                    model.remove(chunk)
                } else {
                    set.insert(chunk)
                    model.insert(chunk)
                }
                let missing = Array(Set(0..<count).subtracting(model)).sorted()
                #expect(set.missing(limit: .max).flatMap { Array($0) } == missing)
                #expect(set.missing(limit: 1).count == min(1, missing.count))
            }
            #expect((0..<count).filter { set.contains($0) } == model.sorted(), "round \(round)")
            #expect(set.filledCount == model.count && set.isFull == (model.count == count))
            #expect(!set.contains(-1) && !set.contains(count))
            #expect(ChunkSet(count: count, bytes: set.bytes) == set)
            #expect(ChunkSet(count: count, bytes: set.bytes + [0]) == nil)
            if count % 8 != 0, count > 0 {
                var surplus = set.bytes
                surplus[surplus.count - 1] |= 0x80
                #expect(ChunkSet(count: count, bytes: surplus) == nil)
            }
            #expect(ChunkSet(count: count, isFull: true).isFull)
        }
    }
}
