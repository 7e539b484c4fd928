import SheafDocument

/// Random ids for documents that are inserted without one.
enum RandomID {
    /// Returns 128 random bits as 32 hexadecimal digits.
    static func make(_ random: () -> UInt64) -> Value {
        .string([random(), random()].map(digits).joined())
    }

    private static func digits(_ number: UInt64) -> String {
        let digits = String(number, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}
