import SheafDocument
import SheafTestSupport

/// A generator of subscriptions to cars.
///
/// The conditions have all forms that could reveal a number, a word, an id or a count.
struct RandomSubscription {
    var random: SeededRandom
    /// Number of subscriptions in ten with ORDER BY and LIMIT.
    var rankedInTen = 3
    /// Whether conditions refer to `arguments`.
    var hasArguments = false
    static let arguments: Object = [
        "pin": 4_711, "word": "secret", "ids": ["h0", "k1", "v1"], "pattern": "s%",
    ]

    mutating func text() -> String {
        let source = [
            "cars", "cars", "cars", "COLLECTION cars (photo ATTACHMENT)",
            "COLLECTION cars (pin REGISTER)", "cars USE INDEX ''", "boats",
        ][random.below(7)]
        var text =
            "\(["", "", "", "--+ {\"#disable_index_scan\": true}\n"][random.below(4)])SELECT * FROM \(source)"
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
        if depth == 0, random.chance(1, in: 3) { return otherForm() }
        guard depth == 0 else {
            let left = condition(depth: depth - 1)
            switch random.below(5) {
            case 0: return "NOT (\(left))"
            case 1: return "(\(left)) OR (\(condition(depth: depth - 1)))"
            case 2: return "(\(left)) XOR (\(condition(depth: depth - 1)))"
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

    /// Returns a condition with one of the rarer operators and functions.
    private mutating func otherForm() -> String {
        if hasArguments, random.chance(1, in: 3) {
            return [
                "pin = :pin", "pin < :pin", "word = :word", "_id IN :ids", "word LIKE :pattern",
            ][
                random.below(5)]
        }
        switch random.below(20) {
        case 0: return "word ILIKE 'SECR%'"
        case 1: return "word SIMILAR TO '(secret|open)'"
        case 2: return "regexp_like(word, '^s.*t$', 'i')"
        case 3: return "ANY v IN object_values(photo) SATISFIES v = 3000 END"
        case 4: return "EVERY k IN ['pin', 'word'] SATISFIES k != word END"
        case 5: return "ANY v WITHIN photo SATISFIES v = 3000 END"
        case 6: return "photo IS \(["", "NOT "][random.below(2)])MISSING"
        case 7: return "photo.len > \(number())"
        case 8: return "starts_with(_id, '\(["h", "k", "v"][random.below(3)])')"
        case 9: return "pos(word, 'cr') = 2"
        case 10: return "char_length(serialize_json(photo)) > 3"
        case 11: return "array_contains([4711, 7], pin)"
        case 12: return "date_part(date_add(pin, 'day', 1), 'year') = 1970"
        case 13: return "word || _id = 'secreth0'"
        case 14: return "type(pin) = 'integer'"
        case 15: return "(pin << 1) >> 1 = \(number())"
        case 16: return "coalesce(pin, 0) - \(number()) > 0"
        case 17: return "cast(pin AS string) LIKE '4%'"
        case 18: return "decode(word, 'secret', true, false)"
        default:
            return "substr(word, \(random.below(5)), 1) = '\(["s", "e", "c"][random.below(3)])'"
        }
    }
}
