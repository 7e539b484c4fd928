import Synchronization

/// The ID of a commit, set once the commit exists.
package final class CommitCell: Sendable {
    private let number: Atomic<Int64>
    private static let none: Int64 = -1

    package init() {
        number = Atomic(Self.none)
    }

    package var value: Int64? {
        let number = number.load(ordering: .acquiring)
        return number == Self.none ? nil : number
    }

    /// Sets the ID, clamped to the range of `Int64`.
    package func set(_ commit: UInt64) {
        number.store(Int64(clamping: commit), ordering: .releasing)
    }
}

/// The commit of a result.
package enum ResultCommit: Sendable {
    /// A commit known from the start.
    case known(UInt64)
    /// The commit of a transaction that may not have ended.
    case of(CommitCell)

    /// Creates the commit of a result; `cell` is nil if the statement is its own transaction.
    init(_ commit: UInt64, _ cell: CommitCell?) {
        self = cell.map { .of($0) } ?? .known(commit)
    }

    /// The commit ID; nil if there is no commit yet.
    package var value: Int64? {
        switch self {
        case .known(let number): Int64(clamping: number)
        case .of(let cell): cell.value
        }
    }
}
