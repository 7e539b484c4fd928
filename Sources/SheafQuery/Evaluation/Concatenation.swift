package import SheafDocument

/// The accumulated result of a chain of the concatenation operator.
///
/// Values are appended to one string; creating a string per operator would take quadratic time.
package struct Concatenation {
    private enum Outcome {
        case text, null, missing
    }

    private var outcome: Outcome
    /// The only reference to the string, so that appending does not copy it.
    private var text = ""

    /// Creates a concatenation with the leftmost value.
    package init(_ value: Value?) {
        switch value {
        case .string(let text)?: (outcome, self.text) = (.text, text)
        case .null?: outcome = .null
        default: outcome = .missing
        }
    }

    /// Appends a value; throws if the string becomes too long.
    package mutating func append(_ value: Value?) throws(StoreError) {
        switch value {
        case .string(let piece)?:
            guard outcome == .text else { return }
            guard text.utf8.count + piece.utf8.count <= QueryLimits.maximumTextLength else {
                throw StoreError(
                    .limit, "a text has more than \(QueryLimits.maximumTextLength) bytes")
            }
            text += piece
        case .null?: if outcome == .text { outcome = .null }
        default: outcome = .missing
        }
    }

    /// The string; null or MISSING if a value is not a string.
    package var value: Value? {
        switch outcome {
        case .text: .string(text)
        case .null: .null
        case .missing: nil
        }
    }
}
