import SheafBytes

/// The order of keys, most of which differ within the eight bytes after their common prefix.
enum KeyOrder {
    /// A key's bytes after the common prefix, and its number.
    private struct Head {
        let bytes: UInt64
        let index: Int
    }

    /// Returns the numbers of keys in the order of the keys; equal keys keep their order.
    static func sorted(
        _ count: Int, _ key: (_ index: Int) -> UnsafeRawBufferPointer
    ) -> [Int] {
        guard count > 0 else { return [] }
        let first = key(0)
        var prefix = first.count
        for index in 1..<count {
            let other = key(index)
            let limit = min(prefix, other.count)
            prefix = 0
            while prefix < limit, other[prefix] == first[prefix] { prefix += 1 }
        }
        var heads = (0..<count).map { Head(bytes: head(of: key($0), behind: prefix), index: $0) }
        heads.sort { left, right in
            if left.bytes != right.bytes { return left.bytes < right.bytes }
            let order = key(left.index).compare(key(right.index))
            return order == 0 ? left.index < right.index : order < 0
        }
        return heads.map(\.index)
    }

    private static func head(of key: UnsafeRawBufferPointer, behind prefix: Int) -> UInt64 {
        guard key.count < prefix + 8 else {
            return UInt64(bigEndian: key.loadUnaligned(fromByteOffset: prefix, as: UInt64.self))
        }
        return (0..<8).reduce(0) { head, index in
            head << 8 | UInt64(prefix + index < key.count ? key[prefix + index] : 0)
        }
    }
}
