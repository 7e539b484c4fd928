package import SheafDocument

/// Random ids for documents that are inserted without one.
package enum RandomID {
    /// Returns 128 random bits as 32 hexadecimal digits.
    package static func make(_ random: () -> UInt64) -> Value {
        let (first, second) = (random(), random())
        return .string(
            String(unsafeUninitializedCapacity: 32) { digits in
                for index in 0..<16 {
                    let shift = UInt64(60 - 4 * index)
                    digits[index] = digit(first >> shift)
                    digits[16 + index] = digit(second >> shift)
                }
                return 32
            })
    }

    private static func digit(_ number: UInt64) -> UInt8 {
        let digit = UInt8(truncatingIfNeeded: number & 15)
        return digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10
    }
}
