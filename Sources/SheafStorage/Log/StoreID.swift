/// The 128 random bits that tell one store's files from another's.
package struct StoreID: Hashable, Sendable {
    package let low: UInt64
    package let high: UInt64

    package init(low: UInt64, high: UInt64) {
        self.low = low
        self.high = high
    }

    /// What every checksum in the store's files starts from, so that no block of another store
    /// passes for one of ours.
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
