package import SheafBytes

/// A state of a tree that never changes, for any thread and for as long as it is kept.
package final class BTreeSnapshot: Sendable {
    /// How many entries there are.
    package let count: Int
    /// Counts the states of the tree; a later state has a greater number.
    package let version: UInt64
    let view: BTreeView
    private let arena: BTreeArena

    /// The state that `view` shows, which the caller has published as `version`.
    init(arena: BTreeArena, view: BTreeView, version: UInt64, count: Int) {
        self.arena = arena
        self.view = view
        self.version = version
        self.count = count
    }

    deinit {
        arena.release(version: version)
    }

    /// The value of `key`.
    package func find(_ key: UnsafeRawBufferPointer) -> BTreeValue? {
        guard let key = BTreeKey(key) else { return nil }
        return view.find(key)
    }

    /// How many entries come before `key`, which need not be there.
    package func rank(of key: UnsafeRawBufferPointer) -> Int {
        guard let key = BTreeKey(key) else { return 0 }
        return view.rank(of: key, count: count)
    }

    /// How many entries have a key in `range`.
    package func count(in range: KeyRange) -> Int {
        view.count(in: range, of: count)
    }

    /// Whether there is no entry with a key in `range`: found out faster than their number.
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
    /// The key is valid during the call alone.
    package func forEach<Failure: Error>(
        in range: KeyRange = .all, reversed: Bool = false,
        _ body: (_ key: UnsafeRawBufferPointer, _ value: BTreeValue) throws(Failure) -> Bool
    ) throws(Failure) {
        try view.forEach(in: range, reversed: reversed, body)
    }

    /// Calls `body` with the values of the entries in `range`, leaf by leaf, until it returns false.
    @inline(__always)
    func forEachValues<Failure: Error>(
        in range: KeyRange, reversed: Bool, _ body: (BTreeLeafValues) throws(Failure) -> Bool
    ) throws(Failure) {
        try view.forEachRun(in: range, reversed: reversed) {
            (page, entries, _) throws(Failure) in
            try body(BTreeLeafValues(page: page, entries: entries, isReversed: reversed))
        }
    }

    /// A cursor over this state, before the first entry.
    package func cursor() -> BTreeCursor {
        BTreeCursor(self)
    }
}

/// The values of some entries of a leaf, in the order of a scan.
struct BTreeLeafValues {
    let page: BTreePage
    let entries: Range<Int>
    let isReversed: Bool

    var count: Int { entries.count }

    @inline(__always)
    subscript(number: Int) -> BTreeValue {
        page.value(isReversed ? entries.upperBound &- 1 &- number : entries.lowerBound &+ number)
    }
}
