import Sheaf

/// A calculator of the differences between successive lists of items.
///
/// Items are identified by `_id` and have changed if their values differ. Only a few bytes are
/// retained per item.
public final class DittoDiffer: Sendable {
    private let differ = Differ()

    /// Creates a differ whose previous list is empty.
    public init() {}

    /// Returns the differences from the previous list; the first call inserts all items.
    public func diff(_ items: [DittoQueryResultItem]) -> DittoDiff {
        DittoDiff(differ.diff(items.lazy.map(\.row)))
    }
}

/// The differences between two lists of items.
public struct DittoDiff: Equatable, Sendable {
    /// The indexes of inserted items in the new list.
    public let insertions: [Int]
    /// The indexes of deleted items in the old list.
    public let deletions: [Int]
    /// The indexes in the new list of items whose value has changed.
    public let updates: [Int]
    /// The moved items, with their indexes in the old list and in the new list.
    public let moves: [(from: Int, to: Int)]

    init(_ diff: Diff) {
        insertions = diff.insertions
        deletions = diff.deletions
        updates = diff.updates
        moves = diff.moves.map { ($0.from, $0.to) }
    }

    /// Whether both have the same indexes.
    public static func == (left: DittoDiff, right: DittoDiff) -> Bool {
        left.insertions == right.insertions && left.deletions == right.deletions
            && left.updates == right.updates && left.moves.elementsEqual(right.moves, by: ==)
    }
}
