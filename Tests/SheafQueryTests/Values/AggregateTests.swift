import SheafDocument
import SheafQuery
import SheafTestSupport
import Testing

/// Aggregates over lists of values.
@Suite struct AggregateTests {
    private func aggregate(
        _ kind: AggregateKind, _ values: [Value?], isDistinct: Bool = false
    ) -> Value? {
        var aggregate = Aggregate(kind, isDistinct: isDistinct)
        for value in values { aggregate.add(value) }
        return aggregate.result()
    }

    @Test func `COUNT over no rows is zero, and other aggregates are MISSING`() {
        let nothing: [[Value?]] = [[], [nil, .null]]
        for kind in AggregateKind.allCases {
            for values in nothing {
                for isDistinct in [false, true] {
                    let result = aggregate(kind, values, isDistinct: isDistinct)
                    #expect(result == (kind == .count ? 0 : nil), "\(kind)")
                }
            }
        }
    }

    @Test func `COUNT skips null, missing and false, and COUNT of rows skips nothing`() {
        #expect(aggregate(.count, [1, false, true, .null, nil, "", 0]) == 4)
        #expect(aggregate(.count, [1, 1.0, false, "a", "a", .null, nil], isDistinct: true) == 2)
        var rows = Aggregate(.count)
        for _ in 0..<5 { rows.addRow() }
        #expect(rows.result() == 5)
    }

    @Test func `an integer sum is exact even if an intermediate sum exceeds 64 bits`() {
        let most = Value.integer(.max)
        #expect(spelled(aggregate(.sum, [most, most, .integer(-.max)])) == spelled(most))
        #expect(aggregate(.sum, [most, 1]) == nil)
        #expect(spelled(aggregate(.sum, [1, 2, "3", true, .null, nil])) == "3")
        #expect(spelled(aggregate(.sum, [1, 2.0])) == "3.0")
        #expect(spelled(aggregate(.avg, [1, 2])) == "1.5")
        #expect(spelled(aggregate(.avg, [2, 2])) == "2.0")
        #expect(aggregate(.avg, [most, most]) == .float(0x1p63))
        #expect(spelled(aggregate(.sum, [1, 1.0, 2], isDistinct: true)) == "3")
    }

    @Test func `a float sum compensates rounding errors`() {
        #expect(aggregate(.sum, [1.0, 1e100, 1.0, -1e100]) == 2.0)
        #expect(aggregate(.sum, .init(repeating: 0.1, count: 10)) == 1.0)
        #expect(aggregate(.sum, [1e308, 1e308, -1e308]) == 1e308)
        #expect(aggregate(.sum, [1e308, 1e308]) == nil)
        #expect(aggregate(.avg, [1e308, 1e308]) == 1e308)
        #expect(
            aggregate(.sum, [1e300, -1e300, .float(.leastNonzeroMagnitude)])
                == .float(.leastNonzeroMagnitude))
        #expect(aggregate(.sum, [.integer(1 << 53 + 1), -9_007_199_254_740_992.0]) == 1.0)
        #expect(aggregate(.sum, [.float(.infinity), 1]) == nil)
        #expect(aggregate(.sum, [.float(.nan), 1]) == nil)
    }

    @Test func `MIN and MAX follow the order of types`() {
        let values: [Value?] = ["a", 2, nil, .null, [1], false, .bytes([1])]
        #expect(aggregate(.min, values) == false)
        #expect(aggregate(.max, values) == [1])
    }

    @Test func `of equal values, MIN and MAX return the same form in any order`() {
        // Each list is sorted by preference.
        let numbers: [Value] = [0, 0.0, -0.0]
        let arrays: [Value] = [
            [0, 1], [0, 1.0], [0.0, 1], [0.0, 1.0], [-0.0, 1], [-0.0, 1.0],
        ]
        let zeros: [Value] = [[0.0, 0.0], [0.0, -0.0], [-0.0, 0.0], [-0.0, -0.0]]
        let objects: [Value] = [
            ["a": 0, "b": [0.0, 0.0]], ["a": 0, "b": [0.0, -0.0]], ["a": 0.0, "b": [0.0, 0.0]],
            ["a": -0.0, "b": [0.0, 0.0]],
        ]
        for forms in [numbers, arrays, zeros, objects] {
            for first in forms.indices {
                for second in first..<forms.count {
                    let (expected, other) = (forms[first], forms[second])
                    for values in [[expected, other], [other, expected]] {
                        for kind in [AggregateKind.min, .max] {
                            for isDistinct in [false, true] {
                                let found = aggregate(kind, values, isDistinct: isDistinct)
                                #expect(spelled(found) == spelled(expected), "\(kind) \(values)")
                            }
                        }
                    }
                }
            }
        }
    }

    @Test func `MEDIAN is the mean of the two middle values, and MID the lower of them`() {
        #expect(spelled(aggregate(.median, [3, 1, 2])) == "2")
        #expect(spelled(aggregate(.median, [4, 1, 2, 3])) == "2.5")
        #expect(spelled(aggregate(.median, [1, 3])) == "2.0")
        #expect(spelled(aggregate(.mid, [4, 1, 2, 3])) == "2")
        #expect(spelled(aggregate(.mid, [3, 1, 2, "x", .null])) == "2")
        #expect(aggregate(.median, [1, 1, 1, 5], isDistinct: true) == 3)
        #expect(aggregate(.median, [.integer(.max), .integer(.max)]) == .float(0x1p63))
        #expect(aggregate(.median, [1e308, 1.5e308]) == 1.25e308)
    }

    /// Returns a random value; floats are small enough for exact sums in any order.
    private func randomValue(_ random: inout SeededRandom) -> Value? {
        switch random.below(10) {
        case 0: nil
        case 1: .null
        case 2: .bool(random.chance(1, in: 2))
        case 3: .string(["", "a", "b"][random.below(3)])
        case 4...6: .integer(Int64(random.below(9)) - 4)
        case 7: .array([.integer(Int64(random.below(2)))])
        default: .float(Double(random.below(33) - 16) / 4)
        }
    }

    /// Returns an aggregate, computed naively from the complete list.
    private func model(_ kind: AggregateKind, _ values: [Value?], isDistinct: Bool) -> Value? {
        var taken: [Value] = []
        for case .some(let value) in values where value != .null {
            let isTaken =
                switch kind {
                case .count: value != false
                case .min, .max: true
                default: value.kind == .number
                }
            guard isTaken else { continue }
            guard isDistinct, let known = taken.firstIndex(where: { $0.compare(value) == 0 })
            else {
                taken.append(value)
                continue
            }
            // Of equal numbers, the integer is kept.
            if case .integer = value { taken[known] = value }
        }
        if kind == .count { return .integer(Int64(taken.count)) }
        guard !taken.isEmpty else { return nil }
        // This is an insertion sort.
        var sorted: [Value] = []
        for value in taken {
            sorted.insert(value, at: sorted.firstIndex { value.compare($0) < 0 } ?? sorted.count)
        }
        let numbers = sorted.map { value in
            switch value {
            case .integer(let integer): Double(integer)
            case .float(let float): float
            default: 0.0
            }
        }
        let sum = numbers.reduce(0, +)
        let isWhole = !taken.contains { if case .float = $0 { true } else { false } }
        let lower = (sorted.count - 1) / 2
        switch kind {
        case .sum: return isWhole ? .integer(Int64(sum)) : .float(sum)
        case .avg: return .float(sum / Double(numbers.count))
        case .min: return sorted.first
        case .max: return sorted.last
        case .mid: return sorted[lower]
        case .median:
            let isOdd = sorted.count % 2 == 1
            return isOdd ? sorted[lower] : .float((numbers[lower] + numbers[lower + 1]) / 2)
        case .count: return nil
        }
    }

    @Test(arguments: 1...40 as ClosedRange<UInt64>)
    func `aggregates of random lists equal the model`(seed: UInt64) {
        var random = SeededRandom(seed: seed, "aggregates")
        let values = (0..<random.below(60)).map { _ in randomValue(&random) }
        for kind in AggregateKind.allCases {
            for isDistinct in [false, true] {
                let result = aggregate(kind, values, isDistinct: isDistinct)
                let expected = model(kind, values, isDistinct: isDistinct)
                #expect(result == expected, "seed \(seed): \(kind) of \(values)")
                if kind == .sum || kind == .avg {
                    #expect(spelled(result) == spelled(expected), "seed \(seed): \(kind)")
                }
            }
        }
    }

    @Test(arguments: 1...10 as ClosedRange<UInt64>)
    func `any values in any order are aggregated without a trap`(seed: UInt64) {
        var random = SeededRandom(seed: seed, "edges")
        for kind in AggregateKind.allCases {
            var values = EdgeValues.all + EdgeValues.all
            values.shuffle(using: &random)
            let result = aggregate(kind, values)
            #expect(spelled(result) == spelled(aggregate(kind, values)), "seed \(seed)")
            if kind == .sum || kind == .avg { #expect(result == nil, "seed \(seed)") }
        }
    }
}
