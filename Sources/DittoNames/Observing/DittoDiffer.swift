import Sheaf

/// Tells what has changed from one list of items to the next.
///
/// Items are the same that have the same `_id`, and have changed if their values differ. Nothing is kept of
/// documents but a few bytes each.
public final class DittoDiffer: Sendable {
    private let differ = Differ()

    /// Makes a differ that has seen no items.
    public init() {}

    /// What has changed since the items that were given before; the first call inserts all of them.
    public func diff(_ items: [DittoQueryResultItem]) -> DittoDiff {
        DittoDiff(differ.diff(items.lazy.map(\.row)))
    }
}

/// What has become of a list of items.
public struct DittoDiff: Equatable, Sendable {
    /// The indexes of new items in the new list.
    public let insertions: [Int]
    /// The indexes in the old list of items that are gone.
    public let deletions: [Int]
    /// The indexes in the new list of items that have another value than in the old one.
    public let updates: [Int]
    /// The items that changed places: their indexes in the old list and in the new one.
    public let moves: [(from: Int, to: Int)]

    init(_ diff: Diff) {
        insertions = diff.insertions
        deletions = diff.deletions
        updates = diff.updates
        moves = diff.moves.map { ($0.from, $0.to) }
    }

    public static func == (left: DittoDiff, right: DittoDiff) -> Bool {
        left.insertions == right.insertions && left.deletions == right.deletions
            && left.updates == right.updates && left.moves.elementsEqual(right.moves, by: ==)
    }
}
