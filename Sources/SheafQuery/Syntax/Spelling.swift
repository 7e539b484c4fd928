import SheafDocument

/// Name comparison by bytes, as in documents; `String` equates canonically equivalent texts.
extension String {
    /// Whether two names have the same bytes.
    func isSpelled(_ other: String) -> Bool { UTF8Order.compare(self, other) == 0 }
}

extension [String] {
    /// Whether two paths consist of the same names.
    func isSpelled(_ other: [String]) -> Bool {
        count == other.count && zip(self, other).allSatisfy { $0.isSpelled($1) }
    }

    /// Whether the array contains `name`.
    func hasSpelling(_ name: String) -> Bool { contains { $0.isSpelled(name) } }
}

extension [[String]] {
    /// Whether the array contains `path`.
    func hasSpelling(_ path: [String]) -> Bool { contains { $0.isSpelled(path) } }
}
