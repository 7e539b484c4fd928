/// A long piece of user data, and what an error may quote of it.
package enum LongInput {
    /// A character of two Unicode scalars, as long as text has no precomposed one.
    package static let character = "ж\u{301}"
    /// 100,000 Unicode scalars.
    package static let text = text(scalars: 100_000)

    package static func text(scalars: Int) -> String {
        String(repeating: character, count: scalars / 2)
    }

    /// What is wrong with an error about such data; nil where nothing is.
    ///
    /// It quotes the start of the data, whole characters only, and at most 200 Unicode scalars of it.
    package static func problem(in error: String, atMost limit: Int = 200) -> String? {
        let scalars = Array(error.unicodeScalars)
        let count = scalars.count { "ж\u{301}".unicodeScalars.contains($0) }
        let bases = scalars.indices.filter { scalars[$0] == "ж" }
        let areWhole = bases.allSatisfy { $0 + 1 < scalars.count && scalars[$0 + 1] == "\u{301}" }
        let shown = String(error.prefix(600))
        if count > limit { return "\(count) scalars are quoted: \(shown)" }
        if bases.count * 2 != count || !areWhole { return "a character is cut: \(shown)" }
        if !error.contains(text(scalars: 20)) { return "the start is missing: \(shown)" }
        return nil
    }
}
