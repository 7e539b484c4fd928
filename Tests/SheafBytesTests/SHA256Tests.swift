import SheafBytes
import SheafTestSupport
import Testing

@Suite struct SHA256Tests {
    private let vectors: FormatVectors

    init() throws {
        vectors = try FormatVectors("attachments.txt")
    }

    @Test func `hashes match the vectors`() throws {
        var count = 0
        for name in vectors.cases where vectors.has("\(name).input") {
            let input = try vectors.bytes("\(name).input")
            let hash = try vectors.bytes("\(name).hash")
            #expect(input.withUnsafeBytes { SHA256.hash($0) } == hash, "\(name)")
            count += 1
        }
        #expect(count == 13)
    }

    @Test func `a million letters have the hash that the standard states`() throws {
        let count = try vectors.integer("million.count")
        let million = [UInt8](repeating: try vectors.bytes("million.repeated")[0], count: count)
        let expected = try vectors.bytes("million.hash")
        #expect(million.withUnsafeBytes { SHA256.hash($0) } == expected)
    }

    @Test func `a hash does not depend on how its input is split`() {
        let seed: UInt64 = 256
        var random = SeededRandom(seed: seed, "pieces")
        for round in 0..<300 {
            let bytes = random.bytes(random.below(1_000))
            var hash = SHA256()
            var start = 0
            while start < bytes.count {
                let length = min(
                    random.below(random.chance(1, in: 4) ? 300 : 66), bytes.count - start)
                hash.update(Array(bytes[start..<start + length]))
                start += length
            }
            let whole = bytes.withUnsafeBytes { SHA256.hash($0) }
            #expect(hash.finish() == whole, "seed \(seed), round \(round)")
        }
    }
}
