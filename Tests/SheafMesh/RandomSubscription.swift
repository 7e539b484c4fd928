import SheafTestSupport

/// Random subscriptions of cars: every form of condition that could ask for a number, a word, an id or a count.
struct RandomSubscription {
    var random: SeededRandom
    /// How many of ten subscriptions have ORDER BY and LIMIT.
    var rankedInTen = 3

    mutating func text() -> String {
        var text = "SELECT * FROM cars"
        if !random.chance(1, in: 6) { text += " WHERE \(condition(depth: random.below(3)))" }
        guard random.chance(rankedInTen, in: 10) else { return text }
        let terms = (0...random.below(2)).map { _ in
            scalar(depth: 1) + (random.chance(1, in: 2) ? " DESC" : "")
        }
        return text + " ORDER BY \(terms.joined(separator: ", ")) LIMIT \(1 + random.below(6))"
    }

    private mutating func number() -> String {
        "\([0, 1, 7, 42, 99, 4_710, 4_711, 4_712][random.below(8)])"
    }

    private mutating func word() -> String {
        ["'secret'", "'secre'", "'open'", "'s%'", "'%cret'", "'h0'", "'k1'", "'red'", "'blue'"][
            random.below(9)]
    }

    private mutating func scalar(depth: Int) -> String {
        let plain = ["n", "pin", "word", "_id", "color"][random.below(5)]
        guard depth > 0 else { return plain }
        switch random.below(9) {
        case 0: return "n + pin"
        case 1: return "char_length(word)"
        case 2: return "upper(\(["word", "_id", "color"][random.below(3)]))"
        case 3: return "n % 7"
        case 4: return "coalesce(pin, n)"
        case 5: return "CASE WHEN pin > \(number()) THEN 1 ELSE n END"
        default: return plain
        }
    }

    private mutating func condition(depth: Int) -> String {
        guard depth == 0 else {
            let left = condition(depth: depth - 1)
            switch random.below(4) {
            case 0: return "NOT (\(left))"
            case 1: return "(\(left)) OR (\(condition(depth: depth - 1)))"
            default: return "(\(left)) AND (\(condition(depth: depth - 1)))"
            }
        }
        switch random.below(12) {
        case 0: return "pin = \(number())"
        case 1: return "pin \(["<", "<=", ">", ">=", "!="][random.below(5)]) \(number())"
        case 2: return "word LIKE \(word())"
        case 3: return "_id IN ('h0', 'k1', 'v\(random.below(8))', 'k3')"
        case 4: return "n BETWEEN \(number()) AND \(number())"
        case 5: return "CASE WHEN pin > \(number()) THEN true ELSE color = 'red' END"
        case 6: return "_id = \(word())"
        case 7: return "\(scalar(depth: 1)) = \(word())"
        case 8: return "color \(["=", "!="][random.below(2)]) 'blue'"
        case 9: return "pin IS \(["", "NOT "][random.below(2)])MISSING"
        case 10: return "char_length(word) > \(random.below(8))"
        default: return "n > \(random.below(90))"
        }
    }
}
