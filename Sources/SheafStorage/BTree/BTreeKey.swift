#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// A borrowed key: its address and its length.
struct BTreeKey {
    let base: UnsafeRawPointer
    let count: Int

    /// Creates a key of the bytes at `base`, which must outlive this value.
    @inline(__always)
    init(_ base: UnsafeRawPointer, count: Int) {
        self.base = base
        self.count = count
    }

    /// Creates a key of `bytes`; nil if there are none.
    @inline(__always)
    init?(_ bytes: UnsafeRawBufferPointer) {
        guard let base = bytes.baseAddress, bytes.count > 0 else { return nil }
        self.init(base, count: bytes.count)
    }

    /// The bytes of the key.
    var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: base, count: count) }

    /// Returns the eight bytes after the first `offset` as a big-endian number, padded with zeros.
    ///
    /// The order of two such numbers is the order of the bytes. Never reads past the key.
    @inline(__always)
    func head(at offset: Int) -> UInt64 {
        let rest = count &- offset
        if rest >= 8 {
            return UInt64(bigEndian: (base + offset).loadUnaligned(as: UInt64.self))
        }
        if rest <= 0 { return 0 }
        let missing = UInt64(truncatingIfNeeded: 8 &* (8 &- rest))
        if count >= 8 {
            let last = UInt64(bigEndian: (base + (count &- 8)).loadUnaligned(as: UInt64.self))
            return last &<< missing
        }
        var head: UInt64 = 0
        for index in offset..<count {
            head = (head &<< 8) | UInt64(base.load(fromByteOffset: index, as: UInt8.self))
        }
        return head &<< missing
    }

    /// Returns the length of the longest common prefix of both keys.
    @inline(__always)
    func commonCount(with other: BTreeKey) -> Int {
        let limit = min(count, other.count)
        var index = 0
        while index &+ 8 <= limit {
            let mine = (base + index).loadUnaligned(as: UInt64.self)
            let difference = mine ^ (other.base + index).loadUnaligned(as: UInt64.self)
            if difference != 0 {
                return index &+ UInt64(littleEndian: difference).trailingZeroBitCount &>> 3
            }
            index &+= 8
        }
        while index < limit,
            base.load(fromByteOffset: index, as: UInt8.self)
                == other.base.load(fromByteOffset: index, as: UInt8.self)
        {
            index &+= 1
        }
        return index
    }

    /// Whether this key sorts before `other`; fast for keys with long common prefixes.
    @inline(__always)
    func precedes(_ other: BTreeKey) -> Bool {
        let shared = commonCount(with: other)
        guard shared < count, shared < other.count else { return count < other.count }
        return base.load(fromByteOffset: shared, as: UInt8.self)
            < other.base.load(fromByteOffset: shared, as: UInt8.self)
    }

    /// Compares the keys lexicographically: negative, zero or positive, as in `memcmp`.
    @inline(__always)
    func compare(_ other: BTreeKey) -> Int {
        let order = BTreeKey.compare(base, other.base, count: min(count, other.count))
        return order != 0 ? order : count &- other.count
    }

    /// Compares `count` bytes lexicographically, with the result of `memcmp`.
    @inline(__always)
    static func compare(
        _ left: UnsafeRawPointer, _ right: UnsafeRawPointer, count: Int
    ) -> Int {
        Int(memcmp(left, right, count))
    }

    /// Compares `count` bytes; the eight bytes before each pointer must be readable.
    ///
    /// Key suffixes mostly have about a dozen bytes, for which a call of `memcmp` costs more than
    /// the comparison.
    @inline(__always)
    static func compareEnds(
        _ left: UnsafeRawPointer, _ right: UnsafeRawPointer, count: Int
    ) -> Int {
        var offset = 0
        while offset &+ 8 <= count {
            let mine = UInt64(bigEndian: (left + offset).loadUnaligned(as: UInt64.self))
            let other = UInt64(bigEndian: (right + offset).loadUnaligned(as: UInt64.self))
            if mine != other { return mine < other ? -1 : 1 }
            offset &+= 8
        }
        let rest = count &- offset
        if rest == 0 { return 0 }
        // The word that ends with the last byte is loaded, and the bytes before the rest are masked
        // out.
        let mask = UInt64.max &>> UInt64(truncatingIfNeeded: 8 &* (8 &- rest))
        let end = count &- 8
        let mine = UInt64(bigEndian: (left + end).loadUnaligned(as: UInt64.self)) & mask
        let other = UInt64(bigEndian: (right + end).loadUnaligned(as: UInt64.self)) & mask
        return mine == other ? 0 : (mine < other ? -1 : 1)
    }
}

extension UnsafeMutableRawPointer {
    /// Copies bytes that do not overlap, with inline code for up to 64 bytes.
    ///
    /// Heads, suffixes and values are so short that a library call would cost more than copying.
    @inline(__always)
    func copyFew(from source: UnsafeRawPointer, count: Int) {
        if count > 64 { return copyMemory(from: source, byteCount: count) }
        if count >= 8 {
            var offset = 0
            while offset &+ 8 < count {
                storeBytes(
                    of: (source + offset).loadUnaligned(as: UInt64.self), toByteOffset: offset,
                    as: UInt64.self)
                offset &+= 8
            }
            // The last word overlaps the previous one.
            let last = count &- 8
            storeBytes(
                of: (source + last).loadUnaligned(as: UInt64.self), toByteOffset: last,
                as: UInt64.self)
            return
        }
        if count >= 4 {
            let last = count &- 4
            let end = (source + last).loadUnaligned(as: UInt32.self)
            storeBytes(of: source.loadUnaligned(as: UInt32.self), as: UInt32.self)
            storeBytes(of: end, toByteOffset: last, as: UInt32.self)
            return
        }
        for offset in 0..<count {
            storeBytes(
                of: source.load(fromByteOffset: offset, as: UInt8.self), toByteOffset: offset,
                as: UInt8.self)
        }
    }
}
