/// What has become of a list of items: the changes that turn the one before into the one after.
///
/// An item is the same one before and after if it has the same `_id`. All that moved or changed is
/// told by its index, so who shows a list keeps what was shown, or as little of it as is needed.
public struct Diff: Equatable, Sendable {
    /// An item that is there before and after, and not in order with those that stayed.
    public struct Move: Hashable, Sendable {
        /// The index of the item before.
        public let from: Int
        /// The index of the item after.
        public let to: Int

        /// A move of one item.
        public init(from: Int, to: Int) {
            self.from = from
            self.to = to
        }
    }

    /// The indexes after of items that were not there before, in rising order.
    public let insertions: [Int]
    /// The indexes before of items that are no longer there, in rising order.
    public let deletions: [Int]
    /// The indexes after of items that were there before with another value, in rising order.
    public let updates: [Int]
    /// The items that changed places, in rising order of where they are after.
    ///
    /// As few as possible: an item that only made room for others has not moved. An item that both
    /// moved and changed is among the updates, too.
    public let moves: [Move]

    /// A diff of changes that are known already, each list in rising order.
    public init(
        insertions: [Int] = [], deletions: [Int] = [], updates: [Int] = [], moves: [Move] = []
    ) {
        self.insertions = insertions
        self.deletions = deletions
        self.updates = updates
        self.moves = moves
    }

    /// Whether everything is as it was.
    public var isEmpty: Bool {
        insertions.isEmpty && deletions.isEmpty && updates.isEmpty && moves.isEmpty
    }
}
