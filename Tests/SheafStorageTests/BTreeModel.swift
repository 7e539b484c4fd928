import SheafBytes
import SheafStorage
import SheafTestSupport

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// The dullest sorted map there is: two arrays.
struct BTreeModel {
    private(set) var keys: [[UInt8]] = []
    private(set) var values: [BTreeValue] = []

    var count: Int { keys.count }

    /// How many keys come before `key`.
    func rank(of key: [UInt8]) -> Int {
        var low = 0
        var high = keys.count
        while low < high {
            let middle = (low + high) / 2
            if precedes(keys[middle], key) {
                low = middle + 1
            } else {
                high = middle
            }
        }
        return low
    }

    func find(_ key: [UInt8]) -> BTreeValue? {
        let index = rank(of: key)
        return index < keys.count && keys[index] == key ? values[index] : nil
    }

    mutating func put(_ key: [UInt8], _ value: BTreeValue) -> BTreeValue? {
        let index = rank(of: key)
        if index < keys.count, keys[index] == key {
            defer { values[index] = value }
            return values[index]
        }
        keys.insert(key, at: index)
        values.insert(value, at: index)
        return nil
    }

    mutating func remove(_ key: [UInt8]) -> BTreeValue? {
        let index = rank(of: key)
        guard index < keys.count, keys[index] == key else { return nil }
        keys.remove(at: index)
        return values.remove(at: index)
    }

    /// The places of the keys in `range`.
    func places(in range: KeyRange) -> Range<Int> {
        let start = rank(of: range.lower)
        let end = range.upper.map { rank(of: $0) } ?? keys.count
        return start..<max(start, end)
    }
}

/// The order of keys; the library's own is a hundred times slower in a build for debugging.
private func precedes(_ left: [UInt8], _ right: [UInt8]) -> Bool {
    let order = memcmp(left, right, min(left.count, right.count))
    return order != 0 ? order < 0 : left.count < right.count
}

/// The kinds of keys that are hard on one part of the tree or another.
enum KeyKind: CaseIterable {
    /// Few bytes of few values: many are prefixes of each other, and many are drawn twice.
    case short
    /// Nothing but zeros, which heads cannot tell apart.
    case zeros
    /// 24 random bytes.
    case random
    /// Longer shared prefixes than a page can take.
    case sharedPrefix
    /// From one byte to the most there may be.
    case long
    /// Numbers that rise by the call.
    case ascending
    /// Numbers that fall by the call.
    case descending

    func key(_ number: Int, _ random: inout SeededRandom) -> [UInt8] {
        switch self {
        case .short:
            return (0...random.below(4)).map { _ in [0, 1, 97, 255][random.below(4)] }
        case .zeros:
            return [UInt8](repeating: 0, count: 1 + random.below(200))
        case .random:
            return random.bytes(24)
        case .sharedPrefix:
            let prefix = [UInt8](
                repeating: 120, count: [0, 7, 8, 39, 48, 60, 100][random.below(7)])
            return prefix + random.bytes(1 + random.below(3))
        case .long:
            let count = random.chance(1, in: 2) ? BTree.maximumKeyCount : 1 + random.below(1024)
            return [UInt8](repeating: UInt8(random.below(2)), count: count - 1) + random.bytes(1)
        case .ascending:
            return bigEndian(number)
        case .descending:
            return bigEndian(1 << 40 - number)
        }
    }

    private func bigEndian(_ number: Int) -> [UInt8] {
        [99, 97, 114, 115] + (0..<8).map { UInt8(truncatingIfNeeded: number >> (56 - 8 * $0)) }
    }
}

/// Values of all lengths, the usual one more often.
func randomValue(_ random: inout SeededRandom) -> BTreeValue {
    BTreeValue(random.bytes(random.chance(1, in: 2) ? 8 : random.below(17)))
}

// The tree takes buffers, so that its callers need no arrays; tests have arrays.
extension BTree {
    mutating func put(_ key: [UInt8], _ value: BTreeValue) -> BTreeValue? {
        key.withUnsafeBytes { put($0, value) }
    }

    mutating func remove(_ key: [UInt8]) -> BTreeValue? {
        key.withUnsafeBytes { remove($0) }
    }

    func find(_ key: [UInt8]) -> BTreeValue? {
        key.withUnsafeBytes { find($0) }
    }

    func rank(of key: [UInt8]) -> Int {
        key.withUnsafeBytes { rank(of: $0) }
    }
}

extension BTreeSnapshot {
    func find(_ key: [UInt8]) -> BTreeValue? {
        key.withUnsafeBytes { find($0) }
    }

    func rank(of key: [UInt8]) -> Int {
        key.withUnsafeBytes { rank(of: $0) }
    }

    /// The entries in a range, as arrays.
    func entries(
        in range: KeyRange = .all, reversed: Bool = false
    ) -> (keys: [[UInt8]], values: [BTreeValue]) {
        var keys: [[UInt8]] = []
        var values: [BTreeValue] = []
        forEach(in: range, reversed: reversed) { key, value in
            keys.append(Array(key))
            values.append(value)
            return true
        }
        return (keys, values)
    }

    /// Whether the snapshot holds exactly the entries of `model`.
    func holds(_ model: BTreeModel) -> Bool {
        let entries = entries()
        return count == model.count && entries.keys == model.keys && entries.values == model.values
    }
}
