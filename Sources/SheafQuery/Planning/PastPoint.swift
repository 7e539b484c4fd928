import SheafDocument
import SheafText

/// The earlier state that AS OF selects.
package enum PastPoint: Hashable, Sendable {
    /// The state after a commit.
    case commit(UInt64)
    /// The state at a time, in milliseconds since 1970.
    case time(UInt64)

    /// Creates the state after a commit; nil if the value is no number of one.
    init?(commit value: Value?) {
        guard case .integer(let number)? = value, number >= 0 else { return nil }
        self = .commit(UInt64(number))
    }

    /// Creates the state at a time, as a date in a text or a number; nil for other values.
    init?(time value: Value?) {
        guard let date = value.flatMap(DateValue.init) else { return nil }
        self = .time(UInt64(max(date.moment.milliseconds, 0)))
    }
}

extension PastPoint: CustomStringConvertible {
    package var description: String {
        switch self {
        case .commit(let number): "commit \(number)"
        case .time(let time): Moment(milliseconds: Int64(clamping: time))?.text ?? "\(time)"
        }
    }
}
