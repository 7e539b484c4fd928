import SheafDocument

/// Ids for documents that come without one.
enum RandomID {
    /// 128 random bits, in 32 hexadecimal digits.
    static func make(_ random: () -> UInt64) -> Value {
        .string([random(), random()].map(digits).joined())
    }

    private static func digits(_ number: UInt64) -> String {
        let digits = String(number, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}
