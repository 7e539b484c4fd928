import SheafQuery

extension Array {
    /// Applies a diff to an array of the old elements.
    ///
    /// Inserted and updated elements are read from `new`; all others are kept.
    public mutating func apply(_ diff: Diff, from new: some RandomAccessCollection<Element>) {
        precondition(
            new.count == count - diff.deletions.count + diff.insertions.count,
            "A diff applies only to the two lists that it was computed from.")
        apply(diff) { new[new.index(new.startIndex, offsetBy: $0)] }
    }

    /// Applies a diff to an array of the old elements, and creates new elements with a closure.
    ///
    /// `element` is called with the new index of each inserted or updated item, in ascending order,
    /// and for no other item. If it throws, the array is unchanged.
    public mutating func apply<Failure: Error>(
        _ diff: Diff, element: (Int) throws(Failure) -> Element
    ) throws(Failure) {
        let newCount = count - diff.deletions.count + diff.insertions.count
        precondition(newCount >= 0, "A diff never deletes more elements than the array has.")
        var isStaying = [Bool](repeating: true, count: count)
        for index in diff.deletions { isStaying[index] = false }
        for move in diff.moves { isStaying[move.from] = false }

        var result: [Element] = []
        result.reserveCapacity(newCount)
        var insertions = Upcoming(diff.insertions)
        var updates = Upcoming(diff.updates)
        var moves = Upcoming(diff.moves)
        var staying = 0
        for index in 0..<newCount {
            let isUpdated = updates.popFirst { $0 == index } != nil
            if insertions.popFirst(where: { $0 == index }) != nil {
                result.append(try element(index))
                continue
            }
            let source: Int
            if let move = moves.popFirst(where: { $0.to == index }) {
                source = move.from
            } else {
                while !isStaying[staying] { staying += 1 }
                source = staying
                staying += 1
            }
            result.append(isUpdated ? try element(index) : self[source])
        }
        self = result
    }
}

/// The elements of a list, removed from the front if they satisfy a condition.
private struct Upcoming<Element> {
    private let elements: [Element]
    private var next = 0

    init(_ elements: [Element]) {
        self.elements = elements
    }

    mutating func popFirst(where isDue: (Element) -> Bool) -> Element? {
        guard next < elements.count, isDue(elements[next]) else { return nil }
        next += 1
        return elements[next - 1]
    }
}
