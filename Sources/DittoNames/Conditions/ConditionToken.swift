import SheafBytes

/// A word of a query string of the older kind.
struct ConditionToken {
    enum Kind: Equatable {
        case end
        case name(String)
        /// What follows `$`.
        case argument(String)
        case text(String)
        /// As it is spelled.
        case number(String)
        case sign(Sign)
    }

    enum Sign: String, CaseIterable {
        // Longer ones come first: they begin like shorter ones.
        case equal = "=="
        case unequal = "!="
        case lessOrEqual = "<="
        case greaterOrEqual = ">="
        case and = "&&"
        case or = "||"
        case less = "<"
        case greater = ">"
        case not = "!"
        case minus = "-"
        case dot = "."
        case comma = ","
        case leftParenthesis = "("
        case rightParenthesis = ")"
        case leftBracket = "["
        case rightBracket = "]"

        /// What the sign is in the query language, where it compares.
        var comparison: String? {
            switch self {
            case .equal: "="
            case .unequal: "!="
            case .less, .lessOrEqual, .greater, .greaterOrEqual: rawValue
            default: nil
            }
        }
    }

    let kind: Kind
    let start: String.Index

    /// How the token is called in errors.
    var name: String {
        switch kind {
        case .end: "the end"
        case .name(let name): name.shortened
        case .argument(let name): "$\(name.shortened)"
        case .text(let text): "\"\(text.shortened)\""
        case .number(let digits): digits.shortened
        case .sign(let sign): sign.rawValue
        }
    }
}
