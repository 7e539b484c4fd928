package import SheafDocument

/// What `||` makes of values, one behind the other.
///
/// The text grows in place: to make a new one of each two would copy a long chain over and over.
package struct Concatenation {
    private enum Outcome {
        case text, null, missing
    }

    private var outcome: Outcome
    /// Nothing else holds it, or it would be copied with each value.
    private var text = ""

    /// Begins with the value on the left.
    package init(_ value: Value?) {
        switch value {
        case .string(let text)?: (outcome, self.text) = (.text, text)
        case .null?: outcome = .null
        default: outcome = .missing
        }
    }

    /// Takes the next value; throws where the text becomes too long.
    package mutating func append(_ value: Value?) throws(QueryError) {
        switch value {
        case .string(let piece)?:
            guard outcome == .text else { return }
            guard text.utf8.count + piece.utf8.count <= QueryLimits.maximumTextLength else {
                throw QueryError(
                    .limit, "a text has more than \(QueryLimits.maximumTextLength) bytes")
            }
            text += piece
        case .null?: if outcome == .text { outcome = .null }
        default: outcome = .missing
        }
    }

    /// The whole text; null or MISSING where one of the values was no text.
    package var value: Value? {
        switch outcome {
        case .text: .string(text)
        case .null: .null
        case .missing: nil
        }
    }
}
