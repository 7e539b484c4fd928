import SheafBytes

/// The order of keys, most of which differ within the eight bytes after their common prefix.
package enum KeyOrder {
    /// A key's bytes after the common prefix, and its number.
    private struct Head {
        let bytes: UInt64
        let index: Int
    }

    /// Whether each of the keys is greater than the one before.
    static func isAscending(
        _ count: Int, _ key: (_ index: Int) -> UnsafeRawBufferPointer
    ) -> Bool {
        var last = BTreeKey(key(0))
        for index in 1..<max(count, 1) {
            let next = BTreeKey(key(index))
            guard let previous = last, let next, previous.precedes(next) else { return false }
            last = next
        }
        return true
    }

    /// Returns the numbers of keys in the order of the keys; equal keys keep their order.
    package static func sorted(
        _ count: Int, _ key: (_ index: Int) -> UnsafeRawBufferPointer
    ) -> [Int] {
        guard count > 0 else { return [] }
        guard let first = BTreeKey(key(0)) else { preconditionFailure("A key has a byte.") }
        var prefix = first.count
        for index in 1..<count where prefix > 0 {
            guard let other = BTreeKey(key(index)) else { preconditionFailure("A key has a byte.") }
            prefix = BTreeKey(first.base, count: prefix).commonCount(with: other)
        }
        func precedes(_ left: Head, _ right: Head) -> Bool {
            if left.bytes != right.bytes { return left.bytes < right.bytes }
            let order = key(left.index).compare(key(right.index))
            return order == 0 ? left.index < right.index : order < 0
        }
        var heads: [Head] = []
        heads.reserveCapacity(count)
        var isSorted = true
        for index in 0..<count {
            let head = Head(
                bytes: BTreeKey(key(index))?.head(at: prefix) ?? 0, index: index)
            if isSorted, let last = heads.last, precedes(head, last) { isSorted = false }
            heads.append(head)
        }
        if isSorted { return Array(0..<count) }
        heads.sort(by: precedes)
        return heads.map(\.index)
    }
}
