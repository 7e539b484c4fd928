package import SheafDocument

/// The dullest document that does what `format-spec/documents.md` says: flat tables, no bytes.
///
/// Nothing here is fast. Every question walks through all dots.
package struct ModelDocument: Hashable, Sendable {
    /// The names on the way from the root, as UTF-8: `String` takes texts for equal that are not.
    package typealias Path = [[UInt8]]

    /// What a dot is; more exact than its part, of which a counter has two kinds.
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

    /// What makes a dot the one that it is.
    package struct Place: Hashable, Sendable {
        package let path: Path
        package let kind: Kind
        package let stamp: Stamp
    }

    /// What a dot says.
    package struct Content: Hashable, Comparable, Sendable {
        /// The restart that a sum counts from; the initial stamp in all other kinds.
        package let epoch: Stamp
        /// Nil in marks.
        package let value: Value?
        /// The key of the value with its trailer, which tells 1 from 1.0, as `==` does not.
        package let key: [UInt8]

        init(_ value: Value?, epoch: Stamp = .initial) {
            self.epoch = epoch
            self.value = value
            key = value.map(ModelDocument.key) ?? []
        }

        package static func == (left: Content, right: Content) -> Bool {
            left.epoch == right.epoch && left.key == right.key
        }

        package static func < (left: Content, right: Content) -> Bool {
            guard left.epoch == right.epoch else { return left.epoch < right.epoch }
            return left.key.lexicographicallyPrecedes(right.key)
        }

        package func hash(into hasher: inout Hasher) {
            hasher.combine(key)
        }
    }

    /// A part whose seeds somebody has replaced or removed.
    package struct PartPlace: Hashable, Sendable {
        package let path: Path
        package let part: Part
    }

    package internal(set) var vector: [Site: HybridTime] = [:]
    package internal(set) var deletion: Stamp?
    /// Seeds are those whose stamp is the initial one.
    package internal(set) var dots: [Place: Content] = [:]
    package internal(set) var overrides: Set<PartPlace> = []

    /// A document of which nobody has heard.
    package init() {}

    /// The two states as one.
    package func joined(with other: ModelDocument) -> ModelDocument {
        var joined = ModelDocument()
        joined.vector = vector.merging(other.vector, uniquingKeysWith: max)
        joined.deletion = [deletion, other.deletion].compactMap { $0 }.max()
        joined.overrides = overrides.union(other.overrides)
        for (place, content) in dots {
            if let theirs = other.dots[place] {
                joined.dots[place] = max(content, theirs)
            } else if !other.covers(place.stamp) {
                joined.dots[place] = content
            }
        }
        for (place, content) in other.dots where dots[place] == nil && !covers(place.stamp) {
            joined.dots[place] = content
        }
        joined.normalize()
        return joined
    }

    /// Whether this write has been seen; of the initial one it cannot be told.
    package func covers(_ stamp: Stamp) -> Bool {
        guard stamp != .initial, let seen = vector[stamp.site] else { return false }
        return stamp.time <= seen
    }

    /// Drops the seeds that are overridden, and the overrides that say nothing.
    mutating func normalize() {
        if deletion != nil { overrides = [] }
        overrides = overrides.filter { !isBelowOverriddenMap($0.path) }
        dots = dots.filter { place, _ in
            guard place.stamp == .initial else { return true }
            return deletion == nil && !isBelowOverriddenMap(place.path)
                && !overrides.contains(PartPlace(path: place.path, part: place.kind.part))
        }
    }

    private func isBelowOverriddenMap(_ path: Path) -> Bool {
        path.indices.contains { overrides.contains(PartPlace(path: Path(path[..<$0]), part: .map)) }
    }

    /// The latest time of all that were seen; a write comes behind it.
    package var latestTime: HybridTime { vector.values.max() ?? .initial }

    /// The order of equal stamps.
    static func key(_ value: Value) -> [UInt8] {
        var writer = SortKeyWriter()
        writer.append(value)
        return writer.bytes
    }

    /// A path of names as the model has it.
    static func path(_ names: [String]) -> Path { names.map { Array($0.utf8) } }
}
