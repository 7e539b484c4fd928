/// The rows of an answer as a JSON array without its end.
package struct AnswerRows {
    /// Maximum number of bytes of a row, and of all rows.
    package static let rowBytes = 1 << 20
    package static let allBytes = 8 << 20

    package private(set) var bytes: [UInt8] = [UInt8(ascii: "[")]

    package init() {}

    /// Appends a row; returns false if it is too long, or all rows would be.
    package mutating func append(_ row: [UInt8]) -> Bool {
        guard row.count <= Self.rowBytes, bytes.count + row.count <= Self.allBytes else {
            return false
        }
        if bytes.count > 1 { bytes.append(UInt8(ascii: ",")) }
        bytes += row
        return true
    }

    /// Returns the time of a statement in milliseconds, without fractions of a microsecond.
    package static func milliseconds(_ nanoseconds: UInt64) -> Double {
        Double(nanoseconds / 1_000) / 1_000
    }
}
