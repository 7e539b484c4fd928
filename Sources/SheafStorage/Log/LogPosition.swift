/// The number of a commit, counted from 1; that of a durable commit is never reused.
package typealias CommitID = UInt64

/// A position in the log: a segment and an offset in the segment as originally written.
///
/// Positions never change. A base file that compaction writes records the original positions of the
/// operations it keeps, so that trees, chains and cursors stay valid.
package struct LogPosition: Hashable, Sendable {
    /// The segment in the upper 32 bits, the offset in the lower 32 bits.
    package let rawValue: UInt64

    package init(rawValue: UInt64) {
        self.rawValue = rawValue
    }

    package init(segment: UInt32, offset: Int) {
        precondition(offset >= 0 && offset <= Int(UInt32.max), "An offset fits in 32 bits.")
        rawValue = UInt64(segment) << 32 | UInt64(offset)
    }

    /// The null position: segments are numbered from 1.
    package static let none = LogPosition(rawValue: 0)

    package var segment: UInt32 { UInt32(truncatingIfNeeded: rawValue >> 32) }
    package var offset: Int { Int(truncatingIfNeeded: rawValue & 0xFFFF_FFFF) }
}

extension LogPosition: Comparable {
    package static func < (left: LogPosition, right: LogPosition) -> Bool {
        left.rawValue < right.rawValue
    }
}

extension LogPosition: CustomStringConvertible {
    package var description: String { "\(segment):\(offset)" }
}
