/// The changes that turn one list of items into another.
///
/// An item with the same `_id` in both lists is the same item. Moves and updates are given by
/// index, so a view can keep as much as possible of what it shows.
public struct Diff: Equatable, Sendable {
    /// An item of both lists that is out of order relative to the items that stay.
    public struct Move: Hashable, Sendable {
        /// The index of the item in the old list.
        public let from: Int
        /// The index of the item in the new list.
        public let to: Int

        /// Creates a move of one item, from an index in the old list to one in the new list.
        public init(from: Int, to: Int) {
            self.from = from
            self.to = to
        }
    }

    /// The inserted items, by ascending index in the new list.
    public let insertions: [Int]
    /// The deleted items, by ascending index in the old list.
    public let deletions: [Int]
    /// The items whose value changed, by ascending index in the new list.
    public let updates: [Int]
    /// The moved items, by ascending index in the new list.
    ///
    /// There are as few moves as possible: an item that makes room for others has not moved. An
    /// item that both moved and changed is among the updates, too.
    public let moves: [Move]

    /// Creates a diff from known changes, each list in ascending order.
    public init(
        insertions: [Int] = [], deletions: [Int] = [], updates: [Int] = [], moves: [Move] = []
    ) {
        self.insertions = insertions
        self.deletions = deletions
        self.updates = updates
        self.moves = moves
    }

    /// Whether the two lists are equal.
    public var isEmpty: Bool {
        insertions.isEmpty && deletions.isEmpty && updates.isEmpty && moves.isEmpty
    }
}
