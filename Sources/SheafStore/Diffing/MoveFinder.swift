/// The algorithm for the fewest moves that put a list into order.
///
/// The items that stay are a longest increasing subsequence. An item that extends the longest one
/// so far takes one step, and there are as many of these as items that stay. Every other item takes
/// a search, and there are as many of these as moves, so the time is linear if little moved.
enum MoveFinder {
    /// Returns the moves of a list of `count` items, with `sources` as their old indexes.
    ///
    /// A negative source is that of a new item.
    static func moves(_ sources: borrowing FlatMemory<Int32>, count: Int) -> [Diff.Move] {
        guard !isAscending(sources, count: count) else { return [] }
        // The length of the longest subsequence that ends with each item; zero for new items.
        let lengths = FlatMemory<Int32>(capacity: count)
        let longest = measureSubsequences(sources, count: count, into: lengths)

        // Of the items that end a subsequence of some length, the last one has the smallest source.
        // So from the end, the first item of each length precedes the item found before it.
        var moves: [Diff.Move] = []
        var wanted = longest
        var index = count
        while index > 0 {
            index &-= 1
            let length = lengths[index]
            if length == wanted, length > 0 {
                wanted &-= 1
            } else if length > 0 {
                moves.append(Diff.Move(from: Int(sources[index]), to: index))
            }
        }
        moves.reverse()
        return moves
    }

    private static func isAscending(
        _ sources: borrowing FlatMemory<Int32>, count: Int
    ) -> Bool {
        var last: Int32 = -1
        for index in 0..<count {
            let source = sources[index]
            guard source >= 0 else { continue }
            guard source > last else { return false }
            last = source
        }
        return true
    }

    private static func measureSubsequences(
        _ sources: borrowing FlatMemory<Int32>, count: Int,
        into lengths: borrowing FlatMemory<Int32>
    ) -> Int32 {
        // Each item is the smallest source that ends a subsequence of length `index + 1`.
        let ends = FlatMemory<Int32>(capacity: count)
        var longest = 0
        var last: Int32 = -1
        for index in 0..<count {
            let source = sources[index]
            if source > last {
                ends[longest] = source
                longest &+= 1
                last = source
                lengths[index] = Int32(truncatingIfNeeded: longest)
            } else if source >= 0 {
                let shorter = firstGreater(than: source, in: ends, count: longest)
                ends[shorter] = source
                last = ends[longest &- 1]
                lengths[index] = Int32(truncatingIfNeeded: shorter &+ 1)
            } else {
                lengths[index] = 0
            }
        }
        return Int32(truncatingIfNeeded: longest)
    }

    /// Returns the index of the first of `count` ascending numbers that is greater, or `count`.
    private static func firstGreater(
        than number: Int32, in numbers: borrowing FlatMemory<Int32>, count: Int
    ) -> Int {
        var (low, high) = (0, count)
        while low < high {
            let middle = (low &+ high) / 2
            if numbers[middle] < number { low = middle &+ 1 } else { high = middle }
        }
        return low
    }
}
