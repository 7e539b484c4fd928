import Sheaf
import SheafTestSupport

/// A random condition in the older syntax and its expected result.
///
/// Fields exist and have one type, except `maybe`, which is only compared with null.
struct RandomCondition {
    let text: String
    /// The result of the condition for a document; nil if it is undefined.
    let holds: @Sendable (Object) -> Bool?

    /// Returns a document with the fields used by conditions.
    static func document(_ id: Int, _ random: inout SeededRandom) -> Object {
        var document: Object = [
            "_id": .integer(Int64(id)), "n": .integer(Int64(random.below(6))),
            "flag": .bool(random.chance(1, in: 2)), "s": .string(word(&random)),
            "o": ["k": .integer(Int64(random.below(6)))],
            "list": .array((0..<random.below(4)).map { _ in .integer(Int64(random.below(6))) }),
        ]
        switch random.below(3) {
        case 0: document["maybe"] = .null
        case 1: document["maybe"] = 1
        default: break
        }
        return document
    }

    private static func word(_ random: inout SeededRandom) -> String {
        String((0..<random.below(3)).map { _ in random.chance(1, in: 2) ? "a" : "b" })
    }

    private init(_ text: String, _ holds: @escaping @Sendable (Object) -> Bool?) {
        self.text = text
        self.holds = holds
    }

    init(_ random: inout SeededRandom, depth: Int) {
        guard depth > 0, random.chance(3, in: 4) else {
            self = Self.leaf(&random)
            return
        }
        let left = RandomCondition(&random, depth: depth - 1)
        let right = RandomCondition(&random, depth: depth - 1)
        switch random.below(3) {
        case 0:
            self.init("(\(left.text)) && (\(right.text))") {
                Self.and(left.holds($0), right.holds($0))
            }
        case 1:
            self.init("(\(left.text)) || (\(right.text))") {
                Self.or(left.holds($0), right.holds($0))
            }
        default: self.init("!(\(left.text))") { left.holds($0).map { !$0 } }
        }
    }

    private static func and(_ left: Bool?, _ right: Bool?) -> Bool? {
        if left == false || right == false { return false }
        return left == nil || right == nil ? nil : true
    }

    private static func or(_ left: Bool?, _ right: Bool?) -> Bool? {
        if left == true || right == true { return true }
        return left == nil || right == nil ? nil : false
    }

    private static func leaf(_ random: inout SeededRandom) -> RandomCondition {
        let number = Int64(random.below(6))
        let word = word(&random)
        let comparisons: [(String, @Sendable (Value, Value) -> Bool)] = [
            ("==", { $0 == $1 }), ("!=", { $0 != $1 }), ("<", { $0 < $1 }), ("<=", { $0 <= $1 }),
            (">", { $0 > $1 }), (">=", { $0 >= $1 }),
        ]
        let (sign, compare) = comparisons[random.below(comparisons.count)]
        switch random.below(9) {
        case 0:
            return RandomCondition("n \(sign) \(number)") {
                $0["n"].map { compare($0, .integer(number)) }
            }
        case 1:
            return RandomCondition("s \(sign) \"\(word)\"") {
                $0["s"].map { compare($0, .string(word)) }
            }
        case 2:
            return RandomCondition("o.k \(sign) n") { document in
                guard let k = Value.object(document)["o", "k"], let n = document["n"] else {
                    return nil
                }
                return compare(k, n)
            }
        case 3: return RandomCondition("flag") { $0["flag"] == true }
        case 4:
            return RandomCondition("contains(list, \(number))") { document in
                guard case .array(let list)? = document["list"] else { return nil }
                return list.contains(.integer(number))
            }
        case 5:
            return RandomCondition("contains([1, \(number)], n)") {
                $0["n"] == 1 || $0["n"] == .integer(number)
            }
        case 6:
            return RandomCondition("starts_with(s, '\(word)')") { document in
                guard case .string(let text)? = document["s"] else { return nil }
                return text.hasPrefix(word)
            }
        case 7:
            let isEqual = random.chance(1, in: 2)
            return RandomCondition("maybe \(isEqual ? "==" : "!=") null") {
                ($0["maybe"] == nil || $0["maybe"] == .null) == isEqual
            }
        default:
            // A missing element is neither equal nor unequal.
            return RandomCondition("list[1] \(sign) \(number)") { document in
                guard case .array(let list)? = document["list"], list.count > 1 else { return nil }
                return compare(list[1], .integer(number))
            }
        }
    }
}
