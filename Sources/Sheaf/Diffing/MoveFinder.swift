/// Finds the fewest items that must move so that all others stay in order.
///
/// Those that stay are a longest increasing subsequence. What goes on behind the longest one so far
/// is noted in one step, and that is as many items as stay in the end. A search is made for the
/// others, and there are as many of them as moves: so where little moved, the time is linear.
enum MoveFinder {
    /// The moves of a list of `count` items, of which each came from `sources`, or from nowhere if
    /// that is negative.
    static func moves(_ sources: borrowing FlatMemory<Int32>, count: Int) -> [Diff.Move] {
        guard !isRising(sources, count: count) else { return [] }
        // The length of the longest subsequence that ends with an item; zero for new ones.
        let lengths = FlatMemory<Int32>(capacity: count)
        let longest = measure(sources, count: count, into: lengths)

        // Of all items at the end of a subsequence of some length, the last one came from the
        // least place. So from behind, the first one of each length goes on before the one found.
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

    private static func isRising(
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

    private static func measure(
        _ sources: borrowing FlatMemory<Int32>, count: Int,
        into lengths: borrowing FlatMemory<Int32>
    ) -> Int32 {
        // The least source at the end of a subsequence of each length, from one on: they rise.
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

    /// Where the first of `count` rising numbers is that is greater, or `count`.
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
