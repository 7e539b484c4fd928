import SheafBytes
import SheafStorage
import SheafTestSupport
import Testing

@Suite struct EncodedPutTests {
    private struct Puts {
        var puts = EncodedPuts()
        var expected: [(location: EncodedPuts.Location, key: [UInt8], rest: [UInt8])] = []

        mutating func append(_ random: inout SeededRandom) throws {
            let key = [1] + random.bytes(random.below(40))
            // A byte repeats: random ones would take most of the time.
            let length = random.below(random.chance(1, in: 20) ? 1_500_000 : 500)
            let rest = [UInt8](repeating: UInt8(random.below(256)), count: length)
            let location = try key.span.withUnsafeBytes { key in
                try rest.span.withUnsafeBytes { try puts.append(key, 7, $0) }
            }
            expected.append((location, key, rest))
        }

        mutating func truncate(to count: Int) {
            guard count < expected.count else { return }
            puts.remove(from: expected[count].location)
            expected.removeSubrange(count...)
        }

        func areKept() -> Bool {
            expected.allSatisfy { location, key, rest in
                let put = puts.put(location)
                return key.span.withUnsafeBytes { put.key.hasSameBytes(as: $0) }
                    && rest.span.withUnsafeBytes { put.rest.hasSameBytes(as: $0) }
            }
        }
    }

    @Test func `puts of a value and of its copies do not change`() throws {
        for seed in 0..<4 as Range<UInt64> {
            var random = SeededRandom(seed: seed, "encoded puts")
            var values = [Puts()]
            for _ in 0..<60 {
                let index = random.below(values.count)
                switch random.below(8) {
                case 0: values.append(values[index])
                case 1: values[index].truncate(to: random.below(20))
                default: try values[index].append(&random)
                }
                if values.count > 4 { values.remove(at: random.below(4)) }
                let areKept = values.allSatisfy { $0.areKept() }
                #expect(areKept, "seed \(seed)")
            }
        }
    }

    @Test func `a put that the log cannot have is refused`() {
        var puts = EncodedPuts()
        for (key, isRefused) in [([UInt8](), true), ([0], true), ([255], true), ([1], false)] {
            let outcome = Result { () throws(StorageError) in
                try key.span.withUnsafeBytes { key throws(StorageError) in
                    try puts.append(key, 0, UnsafeRawBufferPointer(start: nil, count: 0))
                }
            }
            #expect(((try? outcome.get()) == nil) == isRefused)
        }
    }
}
