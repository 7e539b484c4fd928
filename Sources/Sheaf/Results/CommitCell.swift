import Synchronization

/// The number of a commit, once there is one.
final class CommitCell: Sendable {
    private let number: Atomic<Int64>
    private static let none: Int64 = -1

    init() {
        number = Atomic(Self.none)
    }

    var value: Int64? {
        let number = number.load(ordering: .acquiring)
        return number == Self.none ? nil : number
    }

    func set(_ commit: UInt64) {
        number.store(Int64(clamping: commit), ordering: .releasing)
    }
}

/// The commit of a result.
enum ResultCommit: Sendable {
    /// One that is known, or none.
    case known(UInt64?)
    /// That of a transaction, which may not have ended.
    case of(CommitCell)

    var value: Int64? {
        switch self {
        case .known(let number): number.map { Int64(clamping: $0) }
        case .of(let cell): cell.value
        }
    }
}
