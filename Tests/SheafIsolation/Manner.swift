import SheafTestSupport

/// How a transaction is run, and how it is made to end.
enum Manner {
    case committed
    /// It asks for that itself.
    case rolledBack
    /// Its block throws.
    case thrown
    /// Its block cancels the task in which it runs, and takes no notice.
    case cancelledInside
    /// Somebody else cancels the task, after letting others run so many times.
    case cancelledOutside(Int)

    static func draw(_ random: inout SeededRandom) -> Manner {
        switch random.below(20) {
        case 0: .rolledBack
        case 1: .thrown
        case 2: .cancelledInside
        case 3, 4: .cancelledOutside(random.below(20))
        default: .committed
        }
    }
}

/// What transactions throw that do not want to be committed.
struct Mishap: Error {}
