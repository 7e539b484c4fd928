import SheafBytes
package import SheafDocument

/// A boundary before or after all key components that begin with some bytes.
package struct ComponentBound: Hashable, Sendable {
    package let bytes: [UInt8]
    package let isBehind: Bool

    package static func before(_ bytes: [UInt8]) -> ComponentBound {
        ComponentBound(bytes: bytes, isBehind: false)
    }

    package static func behind(_ bytes: [UInt8]) -> ComponentBound {
        ComponentBound(bytes: bytes, isBehind: true)
    }

    /// The bound in a descending field, whose bytes are inverted.
    var turned: ComponentBound {
        ComponentBound(bytes: bytes.map { ~$0 }, isBehind: !isBehind)
    }

    /// Whether the bound precedes `other`; no component is a prefix of another.
    func precedes(_ other: ComponentBound) -> Bool {
        for (left, right) in zip(bytes, other.bytes) where left != right { return left < right }
        if bytes.count == other.bytes.count { return !isBehind && other.isBehind }
        // The shorter bytes are a prefix of the longer ones and therefore enclose them.
        return bytes.count < other.bytes.count ? !isBehind : other.isBehind
    }
}

/// A range of values, as encoded key components between two bounds.
package struct ComponentRange: Hashable, Sendable {
    package let lower: ComponentBound
    package let upper: ComponentBound
    /// Whether all values in the range are equal.
    package let isPoint: Bool

    init(_ lower: ComponentBound, _ upper: ComponentBound, isPoint: Bool = false) {
        self.lower = lower
        self.upper = upper
        self.isPoint = isPoint
    }

    /// The range of all values, including MISSING.
    package static let all = ComponentRange(.before([0x01]), .behind([0xFE]))

    /// Returns the range of all values equal to `value`; nil is MISSING.
    package static func only(_ value: Value?) -> ComponentRange {
        let bytes = component(of: value)
        return ComponentRange(.before(bytes), .behind(bytes), isPoint: true)
    }

    /// Returns the range of values comparable with `value`; nil for null, which has none.
    package static func kind(of value: Value) -> ComponentRange? {
        switch value {
        case .null: nil
        case .bool: booleans
        case .integer, .float: numbers
        case .string: strings
        case .bytes: bytes
        case .array: arrays
        case .object: objects
        }
    }

    private static let booleans = ComponentRange(
        .before(component(of: .bool(false))), .behind(component(of: .bool(true))))
    private static let numbers = all(like: .integer(0))
    private static let strings = all(like: .string(""))
    private static let bytes = all(like: .bytes([]))
    private static let arrays = all(like: .array([]))
    private static let objects = all(like: .object(Object()))

    private static func all(like value: Value) -> ComponentRange {
        let tag = [component(of: value)[0]]
        return ComponentRange(.before(tag), .behind(tag))
    }

    /// Returns the ranges of values for which a comparison with `value` is true, in order.
    package static func values(
        _ comparison: ComparisonOperator, _ value: Value
    ) -> [ComponentRange] {
        guard let kind = kind(of: value) else { return [] }
        let only = only(value)
        switch comparison {
        case .equal: return [only]
        case .notEqual:
            return [ComponentRange(kind.lower, only.lower), ComponentRange(only.upper, kind.upper)]
                .filter { !$0.isEmpty }
        case .less: return [ComponentRange(kind.lower, only.lower)].filter { !$0.isEmpty }
        case .lessOrEqual: return [ComponentRange(kind.lower, only.upper)]
        case .greater: return [ComponentRange(only.upper, kind.upper)].filter { !$0.isEmpty }
        case .greaterOrEqual: return [ComponentRange(only.lower, kind.upper)]
        }
    }

    /// Returns the range of strings with a prefix.
    package static func strings(from prefix: [UInt8]) -> ComponentRange {
        var bytes = component(of: .string(String(decoding: prefix, as: UTF8.self)))
        // The terminator of the string is removed.
        bytes.removeLast()
        return ComponentRange(.before(bytes), .behind(bytes))
    }

    /// Ranges of all values except MISSING, and of all values except null.
    package static let present = ComponentRange(
        all.lower, .before(component(of: nil)))
    package static let notNull = [
        ComponentRange(all.lower, .before(component(of: .null))), only(nil),
    ]

    var isEmpty: Bool { !lower.precedes(upper) }

    func intersection(_ other: ComponentRange) -> ComponentRange {
        ComponentRange(
            lower.precedes(other.lower) ? other.lower : lower,
            upper.precedes(other.upper) ? upper : other.upper,
            isPoint: isPoint || other.isPoint)
    }

    /// Returns the encoded component of a value in ascending order.
    static func component(of value: Value?) -> [UInt8] {
        var writer = SortKeyWriter()
        writer.append(value)
        return writer.components
    }

    /// Returns the range of keys that begin with `prefix` and a component in this range.
    func keys(behind prefix: [UInt8], isDescending: Bool) -> KeyRange {
        let (first, last) = isDescending ? (upper.turned, lower.turned) : (lower, upper)
        return KeyRange(from: Self.key(first, behind: prefix), to: Self.key(last, behind: prefix))
    }

    private static func key(_ bound: ComponentBound, behind prefix: [UInt8]) -> [UInt8] {
        let bytes = prefix + bound.bytes
        guard bound.isBehind else { return bytes }
        // A prefix always has a successor, because it never consists of 0xFF bytes only.
        return KeyRange.prefix(bytes).upper ?? bytes + [0xFF]
    }
}

/// A set of values of one field, as disjoint ranges in ascending order.
package struct ComponentSet: Hashable, Sendable {
    package let ranges: [ComponentRange]

    init(_ ranges: [ComponentRange]) {
        if ranges.count == 1, !ranges[0].isEmpty {
            self.ranges = ranges
            return
        }
        let sorted = ranges.filter { !$0.isEmpty }.sorted { $0.lower.precedes($1.lower) }
        var merged: [ComponentRange] = []
        for range in sorted {
            if let last = merged.last, !last.upper.precedes(range.lower) {
                let upper = last.upper.precedes(range.upper) ? range.upper : last.upper
                merged[merged.count - 1] = ComponentRange(last.lower, upper)
            } else {
                merged.append(range)
            }
        }
        self.ranges = merged
    }

    package static let all = ComponentSet([.all])

    package var isAll: Bool { self == Self.all }
    /// Whether each range contains a single value.
    package var isPoints: Bool { ranges.allSatisfy(\.isPoint) }

    func intersection(_ other: ComponentSet) -> ComponentSet {
        var found: [ComponentRange] = []
        var (left, right) = (0, 0)
        while left < ranges.count, right < other.ranges.count {
            let (a, b) = (ranges[left], other.ranges[right])
            let both = a.intersection(b)
            if !both.isEmpty { found.append(both) }
            if a.upper.precedes(b.upper) { left += 1 } else { right += 1 }
        }
        return ComponentSet(found)
    }

    /// Returns the intersection of all sets, pairwise; a sequential fold would be quadratic.
    static func intersection(of sets: [ComponentSet]) -> ComponentSet {
        var rest = sets
        while rest.count > 1 {
            rest = stride(from: 0, to: rest.count, by: 2).map { index in
                index + 1 < rest.count ? rest[index].intersection(rest[index + 1]) : rest[index]
            }
        }
        return rest.first ?? .all
    }

    /// The set of all other values.
    var complement: ComponentSet {
        var found: [ComponentRange] = []
        var lower = ComponentRange.all.lower
        for range in ranges {
            found.append(ComponentRange(lower, range.lower))
            lower = range.upper
        }
        return ComponentSet(found + [ComponentRange(lower, ComponentRange.all.upper)])
    }
}
