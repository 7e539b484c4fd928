package import SheafBytes

extension BTree {
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

    /// Calls `body` with the entries in `range`, in order, until it returns false.
    ///
    /// The key is valid during the call alone.
    package func forEach<Failure: Error>(
        in range: KeyRange = .all, reversed: Bool = false,
        _ body: (_ key: UnsafeRawBufferPointer, _ value: BTreeValue) throws(Failure) -> Bool
    ) throws(Failure) {
        try view.forEach(in: range, reversed: reversed, body)
    }
}
