/// An error of a pattern, or of matching one.
package struct PatternError: Error, Equatable, Sendable {
    /// The kind of an error.
    package enum Kind: Sendable {
        /// The pattern violates its grammar, or a flag is unknown.
        case invalid
        /// A limit was exceeded.
        case limit
    }

    /// A part of a pattern.
    package struct Part: Equatable, Sendable {
        package let pattern: String
        /// The range of the part, in UTF-8 bytes.
        package let range: Range<Int>
    }

    private struct Details: Equatable, Sendable {
        let kind: Kind
        let message: String
        let hint: String?
        let part: Part?
    }

    /// Indirect, so that throwing functions reserve little stack space; the parser is recursive.
    private indirect enum Box: Equatable, Sendable {
        case details(Details)
    }

    private let box: Box

    init(_ kind: Kind, _ message: String, hint: String? = nil, part: Part? = nil) {
        box = .details(Details(kind: kind, message: message, hint: hint, part: part))
    }

    private var details: Details {
        switch box {
        case .details(let details): details
        }
    }

    package var kind: Kind { details.kind }
    package var message: String { details.message }
    /// A suggestion for correcting the error, if there is one.
    package var hint: String? { details.hint }
    /// The wrong part of the pattern; nil if the error is not in one part.
    package var part: Part? { details.part }
}
