/// A run of keys in byte order: from `lower`, which belongs to it, up to `upper`, which does not.
package struct KeyRange: Hashable, Sendable {
    /// The first key that may be in the range.
    package let lower: [UInt8]
    /// The first key that is past the range; none means that the range has no end.
    package let upper: [UInt8]?

    /// The keys from `lower` up to, but without, `upper`.
    package init(from lower: [UInt8] = [], to upper: [UInt8]? = nil) {
        self.lower = lower
        self.upper = upper
    }

    /// Every key.
    package static let all = KeyRange()

    /// One key.
    package static func only(_ key: [UInt8]) -> KeyRange {
        KeyRange(from: key, to: key + [0])
    }

    /// The keys after `key`, which does not belong to the range.
    package static func after(_ key: [UInt8]) -> KeyRange {
        KeyRange(from: key + [0])
    }

    /// The keys from `lower` through `upper`, both included.
    package static func through(_ lower: [UInt8], _ upper: [UInt8]) -> KeyRange {
        KeyRange(from: lower, to: upper + [0])
    }

    /// The keys that begin with `prefix`.
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

    /// Whether no key at all can be in the range.
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

    /// The keys that are in both ranges.
    package func intersection(_ other: KeyRange) -> KeyRange {
        let lower = self.lower.lexicographicallyPrecedes(other.lower) ? other.lower : self.lower
        guard let upper, let otherUpper = other.upper else {
            return KeyRange(from: lower, to: upper ?? other.upper)
        }
        return KeyRange(
            from: lower, to: upper.lexicographicallyPrecedes(otherUpper) ? upper : otherUpper)
    }

    /// The same keys as fewest ranges, in order and apart from each other.
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

    /// Whether `next`, which starts no earlier than this range, leaves no gap after it.
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
