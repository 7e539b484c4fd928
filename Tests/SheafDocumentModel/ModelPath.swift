import SheafBytes

// The model compares names and keys so often that `==`, `starts(with:)` and the hash of an array,
// which debug builds do not specialize, would take most of the time of a comparison with it.

extension [UInt8] {
    /// Whether the bytes are the same.
    func hasSameBytes(as other: [UInt8]) -> Bool {
        withUnsafeBytes { left in
            other.withUnsafeBytes { right in left.hasSameBytes(as: right) }
        }
    }
}

extension ModelDocument.Path {
    /// Whether a path has the same names.
    func isSame(as other: ModelDocument.Path) -> Bool {
        count == other.count && begins(with: other)
    }

    /// Whether the first names are those of another path.
    func begins(with other: ModelDocument.Path) -> Bool {
        guard count >= other.count else { return false }
        var index = 0
        while index < other.count {
            guard self[index].hasSameBytes(as: other[index]) else { return false }
            index += 1
        }
        return true
    }

    /// Adds the names to a hash.
    func combine(into hasher: inout Hasher) {
        hasher.combine(count)
        for name in self { name.withUnsafeBytes { hasher.combine(bytes: $0) } }
    }
}
