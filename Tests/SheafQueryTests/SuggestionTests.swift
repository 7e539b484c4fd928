import SheafQuery
import Testing

/// Corrections for misspelled words.
@Suite struct SuggestionTests {
    /// Returns all words of `letters` with at most `count` of them.
    private func words(of letters: [Character], upTo count: Int) -> [String] {
        var words = [""]
        var last = [""]
        for _ in 0..<count {
            last = last.flatMap { word in letters.map { word + String($0) } }
            words += last
        }
        return words
    }

    /// Returns the words that differ from `word` in one letter, or in the order of two.
    private func neighbors(of word: String, _ letters: [Character]) -> Set<String> {
        let old = Array(word)
        var found: Set<String> = []
        for index in 0...old.count {
            for letter in letters {
                var longer = old
                longer.insert(letter, at: index)
                found.insert(String(longer))
            }
            guard index < old.count else { continue }
            var shorter = old
            shorter.remove(at: index)
            found.insert(String(shorter))
            for letter in letters {
                var other = old
                other[index] = letter
                found.insert(String(other))
            }
            guard index + 1 < old.count else { continue }
            var turned = old
            turned.swapAt(index, index + 1)
            found.insert(String(turned))
        }
        return found.subtracting([word])
    }

    @Test func `a word of up to three letters is suggested for words one edit away`() {
        let letters: [Character] = ["a", "b", "c"]
        let words = words(of: letters, upTo: 3)
        for word in words {
            let near = neighbors(of: word, letters)
            for candidate in words where !candidate.isEmpty {
                let found = Suggestion.nearest(to: word, among: [candidate])
                #expect(found == (near.contains(candidate) ? candidate : nil), "\(word)")
            }
        }
    }

    @Test(arguments: [
        ("abcd", "abxy", true), ("abcd", "axcy", true), ("abcd", "xbyz", false),
        ("ab", "abcd", true), ("a", "abcd", false), ("abcdef", "abcd", true),
        ("abcdefg", "abcd", false), ("badc", "abcd", true), ("abc", "axy", false),
        ("limti", "limit", true), ("dcba", "abcd", false),
    ])
    func `a word of four or more letters is suggested for words two edits away`(
        word: String, candidate: String, isNear: Bool
    ) {
        #expect(
            Suggestion.nearest(to: word, among: [candidate]) == (isNear ? candidate : nil))
    }

    @Test func `the nearest word is suggested, the first one of several, and none that is equal`() {
        #expect(Suggestion.nearest(to: "colr", among: ["cold", "color"]) == "cold")
        #expect(Suggestion.nearest(to: "colr", among: ["color", "cold"]) == "color")
        #expect(Suggestion.nearest(to: "colr", among: ["mold", "color"]) == "color")
        #expect(Suggestion.nearest(to: "colr", among: ["color", "mold"]) == "color")
        #expect(Suggestion.nearest(to: "color", among: ["COLOR"]) == nil)
        #expect(Suggestion.nearest(to: "Color", among: ["color", "colors"]) == "colors")
        #expect(Suggestion.nearest(to: "CLOR", among: ["Color"]) == "Color")
        #expect(Suggestion.nearest(to: "color", among: []) == nil)
    }

    @Test(arguments: [63, 64, 65])
    func `a word of more than 64 bytes is not corrected`(count: Int) {
        let word = String(repeating: "a", count: count)
        let found = Suggestion.nearest(to: word, among: [word + "b"])
        #expect(found == (count <= 64 ? word + "b" : nil))
    }
}
