/// Long user input, and a check of errors that quote it.
package enum LongInput {
    /// A character of two Unicode scalars that has no precomposed form.
    package static let character = "ж\u{301}"
    /// 100,000 Unicode scalars.
    package static let text = text(scalars: 100_000)

    package static func text(scalars: Int) -> String {
        String(repeating: character, count: scalars / 2)
    }

    /// Returns the flaw of an error about such input, or nil.
    ///
    /// The error must quote the start of the input: complete characters, at most `limit` scalars.
    package static func problem(in error: String, atMost limit: Int = 200) -> String? {
        let scalars = Array(error.unicodeScalars)
        let count = scalars.count { "ж\u{301}".unicodeScalars.contains($0) }
        let bases = scalars.indices.filter { scalars[$0] == "ж" }
        let areComplete = bases.allSatisfy {
            $0 + 1 < scalars.count && scalars[$0 + 1] == "\u{301}"
        }
        let shown = String(error.prefix(600))
        if count > limit { return "\(count) scalars quoted: \(shown)" }
        if bases.count * 2 != count || !areComplete { return "a character was split: \(shown)" }
        if !error.contains(text(scalars: 20)) { return "the start is missing: \(shown)" }
        return nil
    }
}
