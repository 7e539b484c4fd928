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

    @Test(arguments: 0..<6 as Range<UInt64>)
    func `the first puts are in files, and fewer bytes than the threshold in memory`(
        seed: UInt64
    ) throws {
        var random = SeededRandom(seed: seed, "staged counts")
        let volume = SimulatedVolume(seed: seed)
        var options = SmallStore.options(seed: seed)
        options.stagingThreshold = 1 + random.below(800)
        options.segmentLength = 1_000 + random.below(3_000)
        let engine = try StoreEngine(opening: volume, options: options)
        var puts = EncodedPuts(firstLength: 128)
        var expected: [(location: EncodedPuts.Location, length: Int)] = []
        var mostStaged = 0
        func length(of range: Range<Int>) -> Int { expected[range].reduce(0) { $0 + $1.length } }
        for number in 0..<80 as Range<UInt8> {
            if random.chance(1, in: 8), !expected.isEmpty {
                let kept = random.below(expected.count)
                puts.remove(from: expected[kept].location)
                expected.removeSubrange(kept...)
            } else {
                try puts.stageIfNeeded(in: engine, after: engine.snapshot())
                let inMemory = length(of: puts.stagedCount..<expected.count)
                #expect(inMemory < options.stagingThreshold, "seed \(seed)")
                let rest = [UInt8](repeating: 7, count: random.below(200))
                let location = try [1, number].span.withUnsafeBytes { key in
                    try rest.span.withUnsafeBytes { try puts.append(key, 7, $0) }
                }
                // A header of 20 bytes, a key of two, and the first byte of the payload.
                expected.append((location, 23 + rest.count))
            }
            let staged = puts.stagedCount
            try #require(staged <= expected.count)
            #expect(puts.staged?.operationCount ?? 0 == staged, "seed \(seed)")
            #expect(puts.staged?.byteCount ?? 0 == length(of: 0..<staged), "seed \(seed)")
            let areKept = expected.allSatisfy { puts.put($0.location).rest.count + 23 == $0.length }
            #expect(areKept, "seed \(seed)")
            mostStaged = max(mostStaged, staged)
        }
        #expect(mostStaged > 0, "seed \(seed)")
        puts = EncodedPuts()
        #expect(try volume.names().filter { FileName($0) == .temporary } == [])
    }
}
