import SheafDocument
import SheafQuery
import SheafTestSupport
import Testing

/// Sums and means of amounts with decimal places.
@Suite struct AggregateSumTests {
    private func aggregate(_ kind: AggregateKind, _ values: [Value]) -> Value? {
        var aggregate = Aggregate(kind)
        for value in values { aggregate.add(value) }
        return aggregate.result()
    }

    @Test func `amounts with up to nine decimal places are added as these decimals`() {
        let sums: [(values: [Value], sum: Value)] = [
            ([0.1, 0.2], 0.3), ([19.99, 5.01], 25.0), ([1, 0.1, 0.2], 1.3), ([0.7, 0.1], 0.8),
            ([0.1, 0.02, 0.003], 0.123), ([0.003, 0.02, 0.1], 0.123), ([-0.3, 0.1], -0.2),
            ([0.123456789, 0.000000001], 0.12345679), ([5, 0.000000001], 5.000000001),
            ([0.000000001, 2], 2.000000001), ([1.5, -1.5], 0.0), ([3.0, 4], 7.0),
            ([-0.1, -0.2, -1], -1.3), ([123_456.789, 0.211], 123_457.0),
            ([999_999_999_999_999.0, 1.0], 1e15), ([1e15, 1.0], 1_000_000_000_000_001.0),
            ([1e-10, 2e-10], 3e-10), ([1e-10, 1e-10, 0.5], 0.5000000002),
            ([0.1, .integer(.max), .integer(-.max)], 0.1),
            ([0.25, .integer(1 << 53)], 9_007_199_254_740_992.0),
            ([.integer(1 << 53), 0.5, 0.5, .integer(-(1 << 53))], 1.0),
            ([.integer(.max), .integer(.max), 0.5], 18_446_744_073_709_551_616.0),
        ]
        for (values, sum) in sums {
            #expect(spelled(aggregate(.sum, values)) == spelled(sum), "\(values)")
            #expect(spelled(aggregate(.sum, values.reversed())) == spelled(sum), "\(values)")
        }
    }

    @Test func `a mean is the exact sum, divided by the number of values`() {
        let means: [(values: [Value], mean: Value)] = [
            ([0.1, 0.2], 0.15), ([0.1, 0.2, 0.3, 0.2], 0.2), ([1, 0.5], 0.75), ([7], 7.0),
            ([19.99, 5.01], 12.5), ([-1, 0.5, 0.5], 0.0), ([2, 3, 0.1, -0.1], 1.25),
            ([.integer(.max), .integer(.max), .integer(.max)], 9_223_372_036_854_775_808.0),
        ]
        for (values, mean) in means {
            #expect(spelled(aggregate(.avg, values)) == spelled(mean), "\(values)")
        }
    }

    /// Returns a number of 10⁻⁹ as a decimal text.
    private func text(_ billionths: Int64) -> String {
        let digits = "\(billionths.magnitude)"
        let all = String(repeating: "0", count: max(10 - digits.count, 0)) + digits
        return "\(billionths < 0 ? "-" : "")\(all.dropLast(9)).\(all.suffix(9))"
    }

    @Test(arguments: 1...30 as ClosedRange<UInt64>)
    func `a sum of random decimals is that of their digits, in any order`(seed: UInt64) throws {
        var random = SeededRandom(seed: seed, "decimals")
        for _ in 0..<20 {
            var (values, sum): ([Value], Int64) = ([0.5], 500_000_000)
            for _ in 0..<random.below(8) {
                // Fewer than 2⁵³ billionths are one float each, and so is their sum.
                var billionths = Int64(random.below(2_000_001)) - 1_000_000
                for _ in 0..<random.below(10) { billionths *= 10 }
                sum += billionths
                let float = try #require(Double(text(billionths)))
                let isWhole = billionths % 1_000_000_000 == 0 && random.chance(1, in: 2)
                values.append(isWhole ? .integer(billionths / 1_000_000_000) : .float(float))
            }
            let expected = try #require(Double(text(sum)))
            for _ in 0..<3 {
                values.shuffle(using: &random)
                let found = aggregate(.sum, values)
                #expect(spelled(found) == spelled(.float(expected)), "seed \(seed): \(values)")
            }
        }
    }
}
