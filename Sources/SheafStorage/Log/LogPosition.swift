/// The number of a commit: they count from 1 in each store and are never given twice.
package typealias CommitID = UInt64

/// A place in the log: a segment, and an offset in that segment as it was first written.
///
/// Positions never change. When compaction folds segments together, the folded file keeps the
/// positions of what survived, so that trees, chains and cursors stay valid.
package struct LogPosition: Hashable, Sendable {
    /// The segment in the upper half, the offset in the lower.
    package let rawValue: UInt64

    package init(rawValue: UInt64) {
        self.rawValue = rawValue
    }

    package init(segment: UInt32, offset: Int) {
        precondition(offset >= 0 && offset <= Int(UInt32.max), "An offset fits in 32 bits.")
        rawValue = UInt64(segment) << 32 | UInt64(offset)
    }

    /// No place at all: segments are numbered from 1.
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
