/// A place in a snapshot that moves when it is told to; it keeps the snapshot alive.
///
/// A cursor belongs to one thread. It is an object, so that plans can hold arrays of them; making one
/// allocates, moving it does not.
package final class BTreeCursor {
    /// The state that the cursor moves through.
    package let snapshot: BTreeSnapshot
    private let view: BTreeView
    private let path: BTreePath
    private let buffer: UnsafeMutableRawPointer
    private var page: BTreePage
    private var index = 0
    private var isOnEntry = false

    /// A cursor over `snapshot` that is on no entry yet.
    package init(_ snapshot: BTreeSnapshot) {
        self.snapshot = snapshot
        view = snapshot.view
        path = BTreePath(.allocate(capacity: BTreeView.maximumDepth))
        buffer = .allocate(byteCount: BTree.maximumKeyCount, alignment: 8)
        page = view.page(view.root)
    }

    deinit {
        path.steps.deallocate()
        buffer.deallocate()
    }

    /// Whether the cursor is on an entry; it is not before the first move and behind either end.
    package var isValid: Bool { isOnEntry }

    /// The key of the entry that the cursor is on, until it moves.
    package var key: UnsafeRawBufferPointer {
        precondition(isOnEntry, "Only an entry has a key.")
        return UnsafeRawBufferPointer(
            start: buffer, count: page.writeSuffix(index, to: buffer))
    }

    /// The value of the entry that the cursor is on.
    package var value: BTreeValue {
        precondition(isOnEntry, "Only an entry has a value.")
        return page.value(index)
    }

    /// Moves to the first entry whose key is `key` or comes after it.
    @discardableResult
    package func seek(_ key: UnsafeRawBufferPointer) -> Bool {
        guard let key = BTreeKey(key) else { return seekFirst() }
        _ = path.descend(view, to: key)
        enterLeaf()
        if index < page.count { return true }
        return nextLeaf()
    }

    /// Moves to the first entry.
    @discardableResult
    package func seekFirst() -> Bool {
        path.first(view)
        enterLeaf()
        return isOnEntry
    }

    /// Moves to the last entry.
    @discardableResult
    package func seekLast() -> Bool {
        path.last(view)
        enterLeaf()
        return isOnEntry
    }

    /// Moves to the entry that has `rank` others before it.
    @discardableResult
    package func seek(rank: Int) -> Bool {
        guard 0..<snapshot.count ~= rank else {
            isOnEntry = false
            return false
        }
        path.descend(view, toRank: rank)
        enterLeaf()
        return isOnEntry
    }

    /// Moves to the entry after this one.
    @discardableResult
    package func next() -> Bool {
        guard isOnEntry else { return false }
        index &+= 1
        if index < page.count { return true }
        return nextLeaf()
    }

    /// Moves to the entry before this one.
    @discardableResult
    package func previous() -> Bool {
        guard isOnEntry else { return false }
        if index > 0 {
            index &-= 1
            return true
        }
        guard path.previousLeaf(view) else {
            isOnEntry = false
            return false
        }
        enterLeaf()
        page.fetchRecords(noting: buffer)
        return true
    }

    private func nextLeaf() -> Bool {
        guard path.nextLeaf(view) else {
            isOnEntry = false
            return false
        }
        enterLeaf()
        page.fetchRecords(noting: buffer)
        return true
    }

    private func enterLeaf() {
        page = view.page(path.page(0))
        index = path.index(0)
        isOnEntry = index < page.count
        page.writePrefix(to: buffer)
    }
}
