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

/// A reference model of a sorted map: two arrays.
struct BTreeModel {
    private(set) var keys: [[UInt8]] = []
    private(set) var values: [BTreeValue] = []

    var count: Int { keys.count }

    /// Returns the number of keys less than `key`.
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

    /// Returns the indices of the keys in `range`.
    func pointers(in range: KeyRange) -> Range<Int> {
        let start = rank(of: range.lower)
        let end = range.upper.map { rank(of: $0) } ?? keys.count
        return start..<max(start, end)
    }
}

/// Whether `left` precedes `right`; `memcmp` is fast even in debug builds.
private func precedes(_ left: [UInt8], _ right: [UInt8]) -> Bool {
    let order = memcmp(left, right, min(left.count, right.count))
    return order != 0 ? order < 0 : left.count < right.count
}

/// Distributions of keys that stress different parts of the tree.
enum KeyKind: CaseIterable {
    /// Few bytes of few values: many are prefixes of each other, and many are drawn twice.
    case short
    /// Zeros only, which page heads cannot distinguish.
    case zeros
    /// 24 random bytes.
    case random
    /// Shared prefixes longer than a page can factor out.
    case sharedPrefix
    /// Lengths from one byte to the maximum.
    case long
    /// Ascending numbers.
    case ascending
    /// Descending numbers.
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

/// Returns a value of random length, often with a weight or the usual 8 bytes.
func randomValue(_ random: inout SeededRandom) -> BTreeValue {
    if random.chance(1, in: 3) {
        return BTreeValue(low: random.next(), high: random.next(), weight: random.next())
    }
    return randomPlainValue(&random)
}

private func randomPlainValue(_ random: inout SeededRandom) -> BTreeValue {
    BTreeValue(random.bytes(random.chance(1, in: 2) ? 8 : random.below(17)))
}

// The tests pass arrays; the tree itself works on buffers.
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

    /// Returns the entries in a range, as arrays.
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

    /// Whether the snapshot has exactly the entries of `model`, and their weights in ranges.
    func holds(_ model: BTreeModel) -> Bool {
        hasEntries(of: model) && holdsWeights(model)
    }

    /// Whether the snapshot has exactly the entries of `model`.
    func hasEntries(of model: BTreeModel) -> Bool {
        let entries = entries()
        return count == model.count && entries.keys == model.keys && entries.values == model.values
    }

    /// Whether the weights in some ranges are those of `model`.
    private func holdsWeights(_ model: BTreeModel) -> Bool {
        var bounds = (0..<4).compactMap { part -> [UInt8]? in
            model.keys.isEmpty ? nil : model.keys[part * (model.count - 1) / 3]
        }
        bounds += [[], [97, 0]] + bounds.map { $0 + [0] }
        var ranges = bounds.map { KeyRange(from: $0) }
        for lower in bounds { ranges += bounds.map { KeyRange(from: lower, to: $0) } }
        return ranges.allSatisfy { range in
            let indices = model.pointers(in: range)
            let values = model.values[indices]
            let expected = BTreeWeights(
                count: values.count { $0.weight != nil },
                sum: values.reduce(0) { $0 &+ ($1.weight ?? 0) })
            let unweighted = indices.filter { model.values[$0].weight == nil }
            let (some, most) = (unweighted.prefix(5), max(5, unweighted.count))
            return weights(in: range) == expected
                && self.unweighted(in: range, most: 5).map(\.key) == some.map { model.keys[$0] }
                && self.unweighted(in: range, most: most).map(\.value)
                    == unweighted.map { model.values[$0] }
        }
    }
}
