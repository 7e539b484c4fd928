import SheafBytes
import SheafStorage
import SheafTestSupport
import Testing

/// Tests of the order and the batches in which a scan visits record pointers.
@Suite struct RecordPointerOrderTests {
    private let engine: StoreEngine

    init() throws {
        var options = SmallStore.options(seed: 13)
        options.segmentLength = 16 << 10
        options.recordLength = 4 << 10
        options.history = HistoryHorizon(commits: .max, bytes: .max)
        engine = try StoreEngine(opening: SimulatedVolume(seed: 13), options: options)
    }

    private static func key(_ number: Int) -> [UInt8] {
        [1, UInt8(number >> 8), UInt8(number & 255)]
    }

    /// Commits puts of at least 64 bytes in the log, so that their order in it is unambiguous.
    private func put(_ numbers: some Sequence<Int>, removing removed: [Int] = []) throws {
        var batch = WriteBatch()
        let payload = [UInt8](repeating: 7, count: 41)
        for number in numbers { try batch.put(Self.key(number), payload) }
        for number in removed { try batch.remove(Self.key(number)) }
        _ = try engine.append(batch)
        while try engine.flush() {}
    }

    /// Returns the positions that a scan visits, batch by batch, up to a number of batches.
    private func batches(
        _ order: RecordPointerOrder, in range: KeyRange, of log: LogSnapshot, most: Int = .max
    ) -> [[UInt64]] {
        var batches: [[UInt64]] = []
        log.forEachPointers(in: range, order) { pointers in
            batches.append(pointers.map(\.position.rawValue))
            return batches.count < most
        }
        return batches
    }

    /// Returns the positions of the keys with these numbers.
    ///
    /// The position of an absent key is zero.
    private func positions(_ numbers: some Sequence<Int>, in log: LogSnapshot) -> [UInt64] {
        numbers.map { number in
            let pointer = Self.key(number).withUnsafeBytes { log.recordPointer(of: $0) }
            return pointer?.position.rawValue ?? 0
        }
    }

    @Test func `batches in the order of keys begin with 8 pointers and double up to 64`() throws {
        // The last keys come first in the log.
        for start in stride(from: 150, through: 0, by: -50) { try put(start..<start + 50) }
        let log = engine.snapshot()
        let expected = positions(0..<200, in: log)
        for order in [RecordPointerOrder.ascending, .descending, .any] {
            let found = batches(order, in: log.keys, of: log)
            #expect(found.map(\.count) == [8, 16, 32, 64, 64, 16], "\(order)")
            let inOrder: [UInt64] = order == .descending ? expected.reversed() : expected
            #expect(Array(found.joined()) == inOrder, "\(order)")
            #expect(batches(order, in: log.keys, of: log, most: 2).map(\.count) == [8, 16])
        }
        for (count, expected) in [(0, [0]), (7, [7]), (8, [8]), (9, [8, 1]), (24, [8, 16])] {
            let range = KeyRange(from: Self.key(100), to: Self.key(100 + count))
            for order in [RecordPointerOrder.ascending, .descending, .any] {
                let found = batches(order, in: range, of: log).map(\.count)
                #expect(found == expected, "\(order) of \(count)")
            }
        }
    }

    @Test func `a large range is visited in the order of the log, at each commit`() throws {
        let count = 4_200
        var random = SeededRandom(seed: 13, "log order")
        var numbers = Array(0..<count)
        numbers.shuffle(using: &random)
        for start in stride(from: 0, to: count, by: 1_400) {
            try put(numbers[start..<start + 1_400])
        }
        let first = engine.snapshot()
        #expect(first.segments.files.count > 10)
        let expected = positions(0..<count, in: first)
        // The second scan uses the order of the first one.
        for _ in 0..<2 {
            #expect(batches(.any, in: first.keys, of: first) == [expected.sorted()])
        }
        // In a range of fewer pointers, they are in the order of keys.
        let least = KeyRange(from: Self.key(0), to: Self.key(4_096))
        let fewer = KeyRange(from: Self.key(0), to: Self.key(4_095))
        #expect(batches(.any, in: least, of: first) == [expected[..<4_096].sorted()])
        let inOrder = batches(.any, in: fewer, of: first).joined()
        #expect(Array(inOrder) == Array(expected[..<4_095]))
        let commit = first.commit
        try put(stride(from: 0, to: count, by: 7), removing: [1, 2, 4_000])
        try put(count..<count + 5, removing: [3])
        let second = engine.snapshot()
        let removed: Set<Int> = [1, 2, 3, 4_000]
        let left = (0..<count + 5).filter { !removed.contains($0) }
        let newest = positions(left, in: second)
        #expect(batches(.any, in: second.keys, of: second) == [newest.sorted()])
        #expect(batches(.any, in: first.keys, of: first) == [expected.sorted()])
        // The order of an earlier state is derived from that of a later one.
        let past = try second.past(commit).snapshot
        #expect(batches(.any, in: past.keys, of: past) == [expected.sorted()])
        let backward = Array(batches(.descending, in: past.keys, of: past).joined())
        #expect(backward == Array(expected.reversed()))
    }

    @Test func `the length and the newest weighted operation of a range are those of its keys`()
        throws
    {
        var batch = WriteBatch()
        for (number, weight) in [(1, 5), (2, 0), (3, 7), (4, nil)] as [(Int, UInt64?)] {
            try batch.put(Self.key(number), [UInt8](repeating: 1, count: number))
            if let weight { batch.weigh(weight) }
        }
        _ = try engine.append(batch)
        batch = WriteBatch()
        try batch.put(Self.key(1), [1])
        batch.weigh(9)
        _ = try engine.append(batch)
        try engine.flush()
        let log = engine.snapshot()
        func range(_ first: Int, _ end: Int) -> KeyRange {
            KeyRange(from: Self.key(first), to: Self.key(end))
        }
        #expect(log.newestLength(in: range(1, 5)) == 102)
        #expect(log.newestLength(in: range(2, 4)) == 51)
        #expect(log.newestLength(in: range(5, 9)) == 0)
        for (first, end, newest) in [
            (1, 5, 1), (2, 5, 3), (3, 4, 3), (2, 3, nil), (4, 5, nil), (5, 9, nil),
        ] as [(Int, Int, Int?)] {
            let expected = newest.map { positions([$0], in: log)[0] }
            let found = log.newestWeighted(in: range(first, end))?.position.rawValue
            #expect(found == expected, "\(first)..<\(end)")
        }
    }

    @Test func `the removals of a range are visited with the positions that the log has`() throws {
        try put(0..<6, removing: [1, 3])
        try put([1], removing: [4, 5])
        let log = engine.snapshot()
        func removals(_ range: KeyRange) -> [[UInt8]] {
            var found: [[UInt8]] = []
            log.forEachRemoval(in: range) { key, pointer in
                found.append(Array(key))
                #expect(log.removal(of: key) == pointer)
                let operation = try? log.segments.operation(at: pointer.position)
                #expect(operation?.kind == .remove && operation?.length == pointer.length)
            }
            return found
        }
        #expect(removals(.all) == [3, 4, 5].map(Self.key))
        #expect(removals(KeyRange(from: Self.key(4))) == [4, 5].map(Self.key))
        #expect(removals(KeyRange(from: Self.key(1), to: Self.key(5))) == [3, 4].map(Self.key))
        #expect(removals(KeyRange(to: Self.key(3))) == [])
        #expect(Self.key(1).withUnsafeBytes { log.removal(of: $0) } == nil)
    }
}
