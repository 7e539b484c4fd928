import Synchronization

/// The number of a commit, once there is one.
final class CommitCell: Sendable {
    private let number: Atomic<Int64>
    private static let none: Int64 = -1

    init(_ commit: UInt64? = nil) {
        number = Atomic(commit.map { Int64(clamping: $0) } ?? Self.none)
    }

    var value: Int64? {
        let number = number.load(ordering: .acquiring)
        return number == Self.none ? nil : number
    }

    func set(_ commit: UInt64) {
        number.store(Int64(clamping: commit), ordering: .releasing)
    }
}
