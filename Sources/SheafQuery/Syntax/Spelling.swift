import SheafDocument

/// Names are told apart by their bytes, as documents do it: to `String`, texts are equal that only
/// look the same.
extension String {
    /// Whether two names are one.
    func isSpelled(_ other: String) -> Bool { UTF8Order.compare(self, other) == 0 }
}

extension [String] {
    /// Whether two paths lead along the same names.
    func isSpelled(_ other: [String]) -> Bool {
        count == other.count && zip(self, other).allSatisfy { $0.isSpelled($1) }
    }

    /// Whether a name is among these.
    func hasSpelling(_ name: String) -> Bool { contains { $0.isSpelled(name) } }
}

extension [[String]] {
    /// Whether a path is among these.
    func hasSpelling(_ path: [String]) -> Bool { contains { $0.isSpelled(path) } }
}
