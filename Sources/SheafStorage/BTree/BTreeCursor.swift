/// A position in a snapshot, which it keeps alive.
///
/// Every move returns whether the cursor is then on an entry; `next` and `previous` need a current
/// entry. A cursor belongs to one thread. It is a class, so that plans can hold arrays of cursors;
/// creating one allocates memory, moving it does not.
package final class BTreeCursor {
    package let snapshot: BTreeSnapshot
    private let view: BTreeView
    private let path: BTreePath
    private let buffer: UnsafeMutableRawPointer
    private var page: BTreePage
    private var index = 0
    private var isOnEntry = false

    /// Creates a cursor over `snapshot` that is not yet on an entry.
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

    /// Whether the cursor is on an entry: false before the first move and past either end.
    package var isValid: Bool { isOnEntry }

    /// The key of the current entry, valid until the cursor moves.
    package var key: UnsafeRawBufferPointer {
        precondition(isOnEntry, "Only an entry has a key.")
        return UnsafeRawBufferPointer(
            start: buffer, count: page.writeSuffix(index, to: buffer))
    }

    /// The value of the current entry.
    package var value: BTreeValue {
        precondition(isOnEntry, "Only an entry has a value.")
        return page.value(index)
    }

    /// Moves to the first entry whose key is not less than `key`.
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

    /// Moves to the entry that has `rank` entries before it.
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

    /// Moves to the next entry.
    @discardableResult
    package func next() -> Bool {
        guard isOnEntry else { return false }
        index &+= 1
        if index < page.count { return true }
        return nextLeaf()
    }

    /// Moves to the previous entry.
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
