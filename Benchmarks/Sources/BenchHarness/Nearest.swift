/// Suggestions for mistyped names.
package enum Nearest {
    /// Returns a suggestion of the nearest name, or an empty text if none is near.
    package static func hint(for word: String, among names: [String]) -> String {
        let ranked = names.map { (name: $0, distance: distance(word, $0)) }
        guard let best = ranked.min(by: { $0.distance < $1.distance }),
            best.distance <= max(2, word.count / 3)
        else { return "" }
        return ": did you mean \(best.name)?"
    }

    /// Returns the Levenshtein distance of two words.
    package static func distance(_ left: String, _ right: String) -> Int {
        let right = Array(right)
        var row = Array(0...right.count)
        for (index, letter) in left.enumerated() {
            var diagonal = row[0]
            row[0] = index + 1
            for column in right.indices {
                let replaced = diagonal + (letter == right[column] ? 0 : 1)
                diagonal = row[column + 1]
                row[column + 1] = min(replaced, row[column] + 1, row[column + 1] + 1)
            }
        }
        return row[right.count]
    }
}
