package import SheafBytes

extension BTree {
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

    /// Calls `body` with the entries in `range`, in order, until it returns false.
    ///
    /// The key is valid only during the call.
    package func forEach<Failure: Error>(
        in range: KeyRange = .all, reversed: Bool = false,
        _ body: (_ key: UnsafeRawBufferPointer, _ value: BTreeValue) throws(Failure) -> Bool
    ) throws(Failure) {
        try view.forEach(in: range, reversed: reversed, body)
    }
}
