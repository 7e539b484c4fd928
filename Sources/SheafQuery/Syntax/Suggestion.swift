/// Corrections for misspelled words.
package enum Suggestion {
    /// Maximum length of a word to correct; longer words are rarely misspelled keywords.
    private static let maximumLength = 64

    /// Returns the most similar keyword, or nil if none is similar.
    static func nearest(to word: String, of keywords: [Keyword]) -> Keyword? {
        nearest(to: word, among: keywords.map(\.rawValue)).flatMap { Keyword(rawValue: $0) }
    }

    /// Returns the most similar word, ignoring case, or nil if none is similar.
    package static func nearest(to word: String, among words: [String]) -> String? {
        // The time per candidate is quadratic in the length of the word.
        guard word.utf8.count <= maximumLength else { return nil }
        let letters = Array(word.lowercased().utf8)
        var best: (word: String, distance: Int)?
        for candidate in words {
            let other = Array(candidate.lowercased().utf8)
            // In short words, two edits would change most of the word.
            let limit = other.count > 3 ? 2 : 1
            let distance = distance(letters, other, limit: limit)
            if distance > 0, distance <= limit, distance < best?.distance ?? .max {
                best = (candidate, distance)
            }
        }
        return best?.word
    }

    /// Returns the optimal string alignment distance, or `limit + 1` if the lengths differ by more.
    private static func distance(_ left: [UInt8], _ right: [UInt8], limit: Int) -> Int {
        guard abs(left.count - right.count) <= limit else { return limit + 1 }
        var beforeLast: [Int] = []
        var last = Array(0...right.count)
        for i in left.indices {
            var row = [i + 1]
            for j in right.indices {
                var cost = min(last[j + 1], row[j]) + 1
                cost = min(cost, last[j] + (left[i] == right[j] ? 0 : 1))
                if i > 0, j > 0, left[i] == right[j - 1], left[i - 1] == right[j] {
                    cost = min(cost, beforeLast[j - 1] + 1)
                }
                row.append(cost)
            }
            (beforeLast, last) = (last, row)
        }
        return last[right.count]
    }
}
