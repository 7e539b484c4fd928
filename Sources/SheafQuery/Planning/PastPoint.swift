import SheafText

/// The earlier state that AS OF selects.
package enum PastPoint: Hashable, Sendable {
    /// The state after a commit.
    case commit(UInt64)
    /// The state at a time, in milliseconds since 1970.
    case time(UInt64)
}

extension PastPoint: CustomStringConvertible {
    package var description: String {
        switch self {
        case .commit(let number): "commit \(number)"
        case .time(let time): Moment(milliseconds: Int64(clamping: time))?.text ?? "\(time)"
        }
    }
}
