/// The 128 random bits that distinguish the files of one store from those of another.
package struct StoreID: Hashable, Sendable {
    package let low: UInt64
    package let high: UInt64

    package init(low: UInt64, high: UInt64) {
        self.low = low
        self.high = high
    }

    /// The seed of all checksums in the store's files; blocks of another store fail verification.
    package var checksumSeed: UInt64 { low }
}

extension StoreID: CustomStringConvertible {
    package var description: String {
        [high, low].map { half in
            let digits = String(half, radix: 16)
            return String(repeating: "0", count: 16 - digits.count) + digits
        }.joined()
    }
}
