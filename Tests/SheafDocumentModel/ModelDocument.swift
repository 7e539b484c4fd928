import SheafBytes
package import SheafDocument

/// A naive implementation of `format-spec/documents.md` with flat tables and no encoding.
///
/// Every operation scans all dots.
package struct ModelDocument: Hashable, Sendable {
    /// The names from the root, as UTF-8, because `String` equates canonically equivalent names.
    package typealias Path = [[UInt8]]

    /// The kind of a dot; unlike the part, it distinguishes restarts from sums.
    package enum Kind: String, Hashable, Sendable {
        case value, token, mark, restart, sum, olderSum

        package var part: Part {
            switch self {
            case .value: .register
            case .token: .attachment
            case .mark: .map
            case .restart, .sum: .counter
            case .olderSum: .olderCounter
            }
        }
    }

    /// The identity of a dot.
    package struct DotIdentity: Hashable, Sendable {
        package let path: Path
        package let kind: Kind
        package let stamp: Stamp

        package static func == (left: DotIdentity, right: DotIdentity) -> Bool {
            left.stamp == right.stamp && left.kind == right.kind
                && left.path.isSame(as: right.path)
        }

        package func hash(into hasher: inout Hasher) {
            hasher.combine(stamp)
            path.combine(into: &hasher)
        }
    }

    /// The content of a dot.
    package struct Content: Hashable, Comparable, Sendable {
        /// The restart that a sum counts from; the initial stamp for other kinds.
        package let epoch: Stamp
        /// The value; nil for marks.
        package let value: Value?
        /// The key of the value with its trailer, which distinguishes 1 from 1.0, unlike `==`.
        package let key: [UInt8]

        init(_ value: Value?, epoch: Stamp = .initial) {
            self.epoch = epoch
            self.value = value
            key = value.map(ModelDocument.key) ?? []
        }

        package static func == (left: Content, right: Content) -> Bool {
            left.epoch == right.epoch && left.key.hasSameBytes(as: right.key)
        }

        package static func < (left: Content, right: Content) -> Bool {
            guard left.epoch == right.epoch else { return left.epoch < right.epoch }
            return left.key.lexicographicallyPrecedes(right.key)
        }

        package func hash(into hasher: inout Hasher) {
            hasher.combine(key)
        }
    }

    /// A part of the field at a path.
    package struct PartKey: Hashable, Sendable {
        package let path: Path
        package let part: Part

        package static func == (left: PartKey, right: PartKey) -> Bool {
            left.part == right.part && left.path.isSame(as: right.path)
        }

        package func hash(into hasher: inout Hasher) {
            hasher.combine(part)
            path.combine(into: &hasher)
        }
    }

    package internal(set) var vector: [Site: HybridTime] = [:]
    package internal(set) var deletion: Stamp?
    /// The dots; those with the initial stamp are seeds.
    package internal(set) var dots: [DotIdentity: Content] = [:]
    /// The parts whose seeds were replaced or removed.
    package internal(set) var overrides: Set<PartKey> = []

    /// Creates a document that was never written.
    package init() {}

    /// Returns the join of two states.
    package func joined(with other: ModelDocument) -> ModelDocument {
        var joined = ModelDocument()
        joined.vector = vector.merging(other.vector, uniquingKeysWith: max)
        joined.deletion = [deletion, other.deletion].compactMap { $0 }.max()
        joined.overrides = overrides.union(other.overrides)
        joined.dots = dots
        for (dot, content) in dots {
            if let theirs = other.dots[dot] {
                if theirs != content { joined.dots[dot] = max(content, theirs) }
            } else if other.covers(dot.stamp) {
                joined.dots[dot] = nil
            }
        }
        for (dot, content) in other.dots where dots[dot] == nil && !covers(dot.stamp) {
            joined.dots[dot] = content
        }
        joined.normalize()
        return joined
    }

    /// Whether the vector covers a stamp; it never covers the initial one.
    package func covers(_ stamp: Stamp) -> Bool {
        guard stamp != .initial, let seen = vector[stamp.site] else { return false }
        return stamp.time <= seen
    }

    /// Drops overridden seeds and redundant overrides.
    mutating func normalize() {
        if deletion != nil { overrides = [] }
        overrides = overrides.filter { !isBelowOverriddenMap($0.path) }
        guard dots.keys.contains(where: { $0.stamp == .initial }) else { return }
        dots = dots.filter { dot, _ in
            guard dot.stamp == .initial else { return true }
            return deletion == nil && !isBelowOverriddenMap(dot.path)
                && !overrides.contains(PartKey(path: dot.path, part: dot.kind.part))
        }
    }

    private func isBelowOverriddenMap(_ path: Path) -> Bool {
        path.indices.contains { overrides.contains(PartKey(path: Path(path[..<$0]), part: .map)) }
    }

    /// The latest time in the vector; the next write is later.
    package var latestTime: HybridTime { vector.values.max() ?? .initial }

    /// Returns the key of a value, which orders dots with equal stamps.
    static func key(_ value: Value) -> [UInt8] {
        var writer = SortKeyWriter()
        writer.append(value)
        return writer.bytes
    }

    /// Returns a path as UTF-8 names.
    static func path(_ names: [String]) -> Path { names.map { Array($0.utf8) } }
}
