package import SheafBytes

/// An immutable state of a tree, readable from any thread.
package final class BTreeSnapshot: Sendable {
    /// The number of entries.
    package let count: Int
    /// The version of the tree; later snapshots have greater versions.
    package let version: UInt64
    let view: BTreeView
    /// The number of chunks of pages in the directory of the view.
    let chunkCount: Int
    private let arena: BTreeArena

    /// Creates a snapshot of `view`, which the caller has published as `version`.
    init(arena: BTreeArena, view: BTreeView, chunkCount: Int, version: UInt64, count: Int) {
        self.arena = arena
        self.chunkCount = chunkCount
        self.view = view
        self.version = version
        self.count = count
    }

    deinit {
        arena.release(version: version)
    }

    /// Returns the value of `key`, or nil if there is no such entry.
    package func find(_ key: UnsafeRawBufferPointer) -> BTreeValue? {
        guard let key = BTreeKey(key) else { return nil }
        return view.find(key)
    }

    /// Returns the number of entries before `key`, which need not exist.
    package func rank(of key: UnsafeRawBufferPointer) -> Int {
        guard let key = BTreeKey(key) else { return 0 }
        return view.rank(of: key, count: count)
    }

    /// Returns the number of entries whose key is in `range`.
    package func count(in range: KeyRange) -> Int {
        view.count(in: range, of: count)
    }

    /// Whether no entry has a key in `range`; faster than counting them.
    package func isEmpty(in range: KeyRange) -> Bool {
        var isEmpty = true
        view.forEachRun(in: range, reversed: false) { (_, _, _) in
            isEmpty = false
            return false
        }
        return isEmpty
    }

    /// Calls `body` with the entries in `range`, in order, until it returns false.
    ///
    /// The key is valid only during the call.
    package func forEach<Failure: Error>(
        in range: KeyRange = .all, reversed: Bool = false,
        _ body: (_ key: UnsafeRawBufferPointer, _ value: BTreeValue) throws(Failure) -> Bool
    ) throws(Failure) {
        try view.forEach(in: range, reversed: reversed, body)
    }

    /// Calls `body` with the values of the entries in `range`, per leaf, until it returns false.
    @inline(__always)
    func forEachValues<Failure: Error>(
        in range: KeyRange, reversed: Bool, _ body: (BTreeLeafValues) throws(Failure) -> Bool
    ) throws(Failure) {
        try view.forEachRun(in: range, reversed: reversed) {
            (page, entries, _) throws(Failure) in
            try body(BTreeLeafValues(page: page, entries: entries, isReversed: reversed))
        }
    }

    /// Calls `body` with the leaves that have entries in `range`, in order, and these entries.
    package func forEachLeaf<Failure: Error>(
        in range: KeyRange, _ body: (BTreeLeafID, BTreeLeafValues) throws(Failure) -> Void
    ) throws(Failure) {
        try view.forEachRun(in: range, reversed: false) { (page, entries, _) throws(Failure) in
            try body(
                BTreeLeafID(page, in: arena),
                BTreeLeafValues(page: page, entries: entries, isReversed: false))
            return true
        }
    }

    /// The identity of the state, and of the pages that show it.
    package var stateID: BTreeStateID { BTreeStateID(arena: arena.number, version: version) }

    /// Returns a cursor over this snapshot that is not yet on an entry.
    package func cursor() -> BTreeCursor {
        BTreeCursor(self)
    }
}

/// The identity of a state of a tree in the process.
package struct BTreeStateID: Equatable, Sendable {
    fileprivate let arena: UInt64
    fileprivate let version: UInt64

    fileprivate init(arena: UInt64, version: UInt64) {
        self.arena = arena
        self.version = version
    }

    /// Whether this state is later; a tree that replaces another one has a later arena.
    package func isLater(than other: BTreeStateID) -> Bool {
        arena == other.arena ? version > other.version : arena > other.arena
    }
}

/// The identity of the contents of a leaf, as a snapshot sees it.
///
/// The writer gives a leaf the version of new pages before it changes it in place, so leaves with
/// the same identity have the same entries, even if the page was freed and reused in between.
package struct BTreeLeafID: Hashable, Sendable {
    private let arena: UInt64
    private let address: UInt
    private let version: UInt64

    fileprivate init(_ page: BTreePage, in arena: BTreeArena) {
        self.arena = arena.number
        address = UInt(bitPattern: page.base)
        version = page.version
    }
}

/// The values of consecutive entries of a leaf, in scan order.
package struct BTreeLeafValues {
    let page: BTreePage
    let entries: Range<Int>
    let isReversed: Bool

    package var count: Int { entries.count }

    @inline(__always)
    package subscript(number: Int) -> BTreeValue {
        page.value(isReversed ? entries.upperBound &- 1 &- number : entries.lowerBound &+ number)
    }
}
