/// A range of keys in byte order, from `lower` inclusive to `upper` exclusive.
package struct KeyRange: Hashable, Sendable {
    /// Inclusive lower bound.
    package let lower: [UInt8]
    /// Exclusive upper bound; nil for an unbounded range.
    package let upper: [UInt8]?

    /// Creates a range; without arguments, that of all keys.
    package init(from lower: [UInt8] = [], to upper: [UInt8]? = nil) {
        self.lower = lower
        self.upper = upper
    }

    /// The range of all keys.
    package static let all = KeyRange()

    /// Returns the range of one key.
    package static func only(_ key: [UInt8]) -> KeyRange {
        KeyRange(from: key, to: key + [0])
    }

    /// Returns the range of keys greater than `key`.
    package static func after(_ key: [UInt8]) -> KeyRange {
        KeyRange(from: key + [0])
    }

    /// Returns the range of keys from `lower` through `upper`, both included.
    package static func through(_ lower: [UInt8], _ upper: [UInt8]) -> KeyRange {
        KeyRange(from: lower, to: upper + [0])
    }

    /// Returns the range of keys that begin with `prefix`.
    package static func prefix(_ prefix: [UInt8]) -> KeyRange {
        var end = prefix
        while let last = end.popLast() {
            if last < 0xFF {
                end.append(last + 1)
                return KeyRange(from: prefix, to: end)
            }
        }
        return KeyRange(from: prefix)
    }

    /// Whether the range contains no key.
    package var isEmpty: Bool {
        guard let upper else { return false }
        return !lower.lexicographicallyPrecedes(upper)
    }

    /// Whether `key` is in the range.
    package func contains(_ key: [UInt8]) -> Bool {
        guard !key.lexicographicallyPrecedes(lower) else { return false }
        guard let upper else { return true }
        return key.lexicographicallyPrecedes(upper)
    }

    /// Returns the range of keys that are in both ranges.
    package func intersection(_ other: KeyRange) -> KeyRange {
        let lower = self.lower.lexicographicallyPrecedes(other.lower) ? other.lower : self.lower
        guard let upper, let otherUpper = other.upper else {
            return KeyRange(from: lower, to: upper ?? other.upper)
        }
        return KeyRange(
            from: lower, to: upper.lexicographicallyPrecedes(otherUpper) ? upper : otherUpper)
    }

    /// Returns the union as the fewest ranges, in order and disjoint.
    package static func union(_ ranges: [KeyRange]) -> [KeyRange] {
        if ranges.count == 1, !ranges[0].isEmpty { return ranges }
        let sorted = ranges.filter { !$0.isEmpty }.sorted {
            $0.lower.lexicographicallyPrecedes($1.lower)
        }
        var merged: [KeyRange] = []
        for range in sorted {
            guard let last = merged.last, last.touches(range) else {
                merged.append(range)
                continue
            }
            merged[merged.count - 1] = last.extended(by: range)
        }
        return merged
    }

    /// Whether `next`, which starts no earlier, leaves no gap after this range.
    private func touches(_ next: KeyRange) -> Bool {
        guard let upper else { return true }
        return !upper.lexicographicallyPrecedes(next.lower)
    }

    private func extended(by next: KeyRange) -> KeyRange {
        guard let upper, let nextUpper = next.upper else { return KeyRange(from: lower) }
        return KeyRange(
            from: lower, to: upper.lexicographicallyPrecedes(nextUpper) ? nextUpper : upper)
    }
}
