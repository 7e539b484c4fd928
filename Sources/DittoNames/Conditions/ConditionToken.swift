import SheafBytes

/// A token of a query string of the older calls.
struct ConditionToken {
    package enum Kind: Equatable {
        case end
        case name(String)
        /// The name after `$`.
        case argument(String)
        case text(String)
        /// The spelling of a number.
        case number(String)
        case sign(Sign)
    }

    enum Sign: String, CaseIterable {
        // Longer signs come first, since shorter ones are their prefixes.
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

        /// The comparison operator of the query language, or nil for other signs.
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

    /// The token as named in errors.
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
