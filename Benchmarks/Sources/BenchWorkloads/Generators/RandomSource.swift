import Glibc

/// A random sequence that its seed determines (SplitMix64).
package struct RandomSource: RandomNumberGenerator, Sendable {
    private var state: UInt64

    /// Starts a sequence; different streams of one seed are independent.
    package init(seed: UInt64, stream: UInt64 = 0) {
        state = Self.mix(seed) ^ Self.mix(stream &* 0xD1B5_4A32_D192_ED03 &+ 1)
    }

    package mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        return Self.mix(state)
    }

    /// Returns a number of at least 0 and below 1.
    package mutating func unit() -> Double { Double(next() >> 11) * 0x1p-53 }

    /// Returns an integer below `bound`, which must be positive.
    package mutating func below(_ bound: Int) -> Int { Int.random(in: 0..<bound, using: &self) }

    /// Maps each number to another one; no two numbers have the same result.
    static func mix(_ number: UInt64) -> UInt64 {
        var mixed = number
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}

extension RandomSource {
    /// Returns a number of the standard normal distribution, by the method of Box and Muller.
    mutating func normal() -> Double {
        sqrt(-2 * log(1 - unit())) * cos(2 * .pi * unit())
    }

    /// Returns a rank below `count`, whose probability is proportional to
    /// `1 / (rank + 1) ^ exponent`.
    ///
    /// The method is rejection inversion (W. Hörmann, G. Derflinger, 1996): it needs no tables, so
    /// `count` may change from call to call.
    mutating func zipf(count: Int, exponent: Double) -> Int {
        let curve = ZipfCurve(exponent: exponent)
        let top = curve.integral(Double(count) + 0.5)
        let bottom = curve.integral(1.5) - 1
        let shortcut = 2 - curve.inverse(curve.integral(2.5) - curve.density(2))
        while true {
            let height = top + unit() * (bottom - top)
            let position = curve.inverse(height)
            let rank = min(max(position.rounded(), 1), Double(count))
            if rank - position <= shortcut
                || height >= curve.integral(rank + 0.5) - curve.density(rank)
            {
                return Int(rank) - 1
            }
        }
    }
}

/// The density of a Zipf distribution at real numbers, its integral and the inverse of that.
private struct ZipfCurve {
    let exponent: Double

    func density(_ x: Double) -> Double { exp(-exponent * log(x)) }

    func integral(_ x: Double) -> Double {
        let logarithm = log(x)
        return Self.quotient((1 - exponent) * logarithm) * logarithm
    }

    func inverse(_ y: Double) -> Double {
        let scaled = max(y * (1 - exponent), -1)
        let factor = abs(scaled) > 1e-8 ? log1p(scaled) / scaled : 1 - scaled / 2
        return exp(factor * y)
    }

    /// Returns `(e^x - 1) / x`, which is 1 at zero.
    private static func quotient(_ x: Double) -> Double {
        abs(x) > 1e-8 ? expm1(x) / x : 1 + x / 2
    }
}
