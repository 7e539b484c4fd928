package import SheafBytes
import SheafDocument

/// A 128-bit sum of hashes, equal for equal sets.
package struct ChecksumSum: Equatable, Sendable {
    private var low: UInt64 = 0
    private var high: UInt64 = 0

    /// The sum of nothing.
    package init() {}

    /// The sum as a hash.
    package var hash: XXH3.Hash128 { XXH3.Hash128(low: low, high: high) }

    /// The hash of one document: its collection, its encoded id, and its content.
    package init(
        _ collection: String, _ id: ArraySlice<UInt8>, _ content: [UInt8]
    ) {
        var writer = ByteWriter(capacity: collection.utf8.count + id.count + content.count + 16)
        writer.writeText(collection)
        writer.writeVarint(UInt64(id.count))
        writer.write(Array(id))
        writer.write(content)
        let hash = writer.bytes.span.withUnsafeBytes { XXH3.hash128($0) }
        (low, high) = (hash.low, hash.high)
    }

    package mutating func add(_ other: ChecksumSum) {
        let (sum, carry) = low.addingReportingOverflow(other.low)
        low = sum
        high = high &+ other.high &+ (carry ? 1 : 0)
    }
}

extension ChecksumSum: CustomStringConvertible {
    /// The sum as 32 hexadecimal digits.
    package var description: String {
        [high, low].map { half in
            let digits = String(half, radix: 16)
            return String(repeating: "0", count: 16 - digits.utf8.count) + digits
        }.joined()
    }
}

extension ChecksumSum {
    /// Parses 32 hexadecimal digits; nil for anything else.
    package init?(_ text: String) {
        let digits = Array(text.utf8)
        guard digits.count == 32,
            digits.allSatisfy({ (48...57).contains($0) || (97...102).contains($0) }),
            let high = UInt64(text.prefix(16), radix: 16),
            let low = UInt64(text.suffix(16), radix: 16)
        else { return nil }
        (self.high, self.low) = (high, low)
    }
}
