/// The deadlines of connections, as a binary heap whose entries can be changed.
struct DeadlineHeap {
    typealias Connection = Replicator.Connection

    private var entries: [(deadline: UInt64, connection: Connection)] = []

    /// The earliest deadline.
    var first: UInt64? { entries.first?.deadline }

    /// Returns the deadline of a connection; nil if it has none.
    func deadline(of connection: Connection) -> UInt64? {
        connection.heapIndex.map { entries[$0].deadline }
    }

    /// Sets the deadline of a connection, or removes it with nil.
    mutating func set(_ connection: Connection, _ deadline: UInt64?) {
        guard let deadline else { return remove(connection) }
        guard let index = connection.heapIndex else {
            entries.append((deadline, connection))
            connection.heapIndex = entries.count - 1
            return moveUp(entries.count - 1)
        }
        let old = entries[index].deadline
        guard deadline != old else { return }
        entries[index].deadline = deadline
        if deadline < old { moveUp(index) } else { moveDown(index) }
    }

    /// Calls `body` with each connection whose deadline has been reached, in any order.
    func forEachDue(at now: UInt64, _ body: (Connection) -> Void) {
        var pending = [0]
        while let index = pending.popLast() {
            guard index < entries.count, entries[index].deadline <= now else { continue }
            body(entries[index].connection)
            pending += [2 * index + 1, 2 * index + 2]
        }
    }

    private mutating func remove(_ connection: Connection) {
        guard let index = connection.heapIndex else { return }
        connection.heapIndex = nil
        let last = entries.removeLast()
        guard index < entries.count else { return }
        entries[index] = last
        last.connection.heapIndex = index
        moveUp(index)
        moveDown(last.connection.heapIndex ?? index)
    }

    private mutating func moveUp(_ start: Int) {
        var index = start
        while index > 0 {
            let parent = (index - 1) / 2
            guard entries[index].deadline < entries[parent].deadline else { return }
            swap(index, parent)
            index = parent
        }
    }

    private mutating func moveDown(_ start: Int) {
        var index = start
        while true {
            var least = index
            for child in [2 * index + 1, 2 * index + 2] where child < entries.count {
                if entries[child].deadline < entries[least].deadline { least = child }
            }
            guard least != index else { return }
            swap(index, least)
            index = least
        }
    }

    private mutating func swap(_ one: Int, _ other: Int) {
        entries.swapAt(one, other)
        entries[one].connection.heapIndex = one
        entries[other].connection.heapIndex = other
    }
}
