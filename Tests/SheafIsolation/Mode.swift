import SheafTestSupport

/// The way in which a transaction ends.
enum Mode {
    case committed
    /// The block requests a rollback.
    case rolledBack
    /// The block throws.
    case thrown
    /// The block cancels its own task and continues.
    case cancelledInside
    /// Another task cancels the task after this number of yields.
    case cancelledOutside(Int)

    static func draw(_ random: inout SeededRandom) -> Mode {
        switch random.below(20) {
        case 0: .rolledBack
        case 1: .thrown
        case 2: .cancelledInside
        case 3, 4: .cancelledOutside(random.below(20))
        default: .committed
        }
    }
}

/// The error thrown by transactions that must not commit.
struct TestError: Error {}
