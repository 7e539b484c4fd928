import SheafBytes

/// A range of a statement, in bytes.
package struct SourceRange: Hashable, Sendable {
    package let lower: Int
    package let upper: Int

    package init(_ lower: Int, _ upper: Int) {
        self.lower = lower
        self.upper = upper
    }

    /// Returns the range from the start of this one to the end of `other`.
    package func through(_ other: SourceRange) -> SourceRange {
        SourceRange(lower, max(upper, other.upper))
    }
}

/// The reason why a statement failed, with the relevant excerpt of its text.
package struct QueryError: Error, Equatable, Sendable {
    package enum Reason: Equatable, Sendable {
        /// The statement violates the grammar.
        case syntax
        /// The statement is well-formed but invalid: unknown names or an invalid combination.
        case meaning
        /// An argument is missing or invalid.
        case argument
        /// A limit was exceeded.
        case limit
        /// The statement conflicts with existing documents.
        case conflict
        /// The bytes of a document are malformed.
        case damaged
        /// The statement exceeded its time limit.
        case timedOut
        /// The caller canceled the statement.
        case cancelled
        /// The store or transaction failed or does not allow the statement.
        case failed
    }

    /// A line of the statement with its marked part.
    package struct Excerpt: Equatable, Sendable {
        /// Line number, starting at 1.
        package let line: Int
        package let column: Int
        package let text: String
        /// Start of the mark in `text`, in characters.
        package let markStart: Int
        package let markLength: Int
    }

    private struct Details: Equatable, Sendable {
        let reason: Reason
        let message: String
        let hint: String?
        let excerpt: Excerpt?
        let document: UInt64
    }

    /// Indirect, so that throwing functions reserve little stack space; the parser is recursive.
    private indirect enum Box: Equatable, Sendable {
        case details(Details)
    }

    private let box: Box

    package init(
        _ reason: Reason, _ message: String, hint: String? = nil, excerpt: Excerpt? = nil,
        document: UInt64 = 0
    ) {
        box = .details(
            Details(
                reason: reason,
                message: message.shortened(to: ErrorText.limit),
                hint: hint?.shortened(to: ErrorText.limit),
                excerpt: excerpt, document: document))
    }

    package init(
        _ reason: Reason, _ message: String, hint: String? = nil, at range: SourceRange,
        in statement: String
    ) {
        self.init(reason, message, hint: hint, excerpt: Excerpt(range, of: statement))
    }

    private var details: Details {
        switch box {
        case .details(let details): details
        }
    }

    package var reason: Reason { details.reason }
    package var message: String { details.message }
    /// A suggestion, such as `did you mean FROM?`.
    package var hint: String? { details.hint }
    package var excerpt: Excerpt? { details.excerpt }
    /// Log position of the damaged document; zero if there is none or it is unknown.
    package var document: UInt64 { details.document }

    /// Returns the error located at the first occurrence of `piece`; unchanged if there is none.
    package func located(at piece: String, in statement: String) -> QueryError {
        let (text, piece) = (Array(statement.utf8), Array(piece.utf8))
        guard !piece.isEmpty, piece.count <= text.count else { return self }
        let start = (0...text.count - piece.count).first { text[$0...].starts(with: piece) }
        guard let start else { return self }
        return located(at: SourceRange(start, start + piece.count), in: statement)
    }

    /// Returns the error with a location in the statement, unless it already has one.
    package func located(at range: SourceRange, in statement: String) -> QueryError {
        guard excerpt == nil else { return self }
        return QueryError(reason, message, hint: hint, at: range, in: statement)
    }
}

extension QueryError.Excerpt {
    /// Maximum number of characters shown; longer lines are cut on both sides of the mark.
    private static let maximumLength = 100

    /// Creates an excerpt of the line on which `range` begins.
    package init(_ range: SourceRange, of statement: String) {
        let bytes = Array(statement.utf8)
        let lower = min(range.lower, bytes.count)
        let start = (bytes[..<lower].lastIndex(of: 0x0A) ?? -1) + 1
        let end = bytes[lower...].firstIndex(of: 0x0A) ?? bytes.count
        let before = Array(String(decoding: bytes[start..<lower], as: UTF8.self))
        let upper = min(max(range.upper, lower), end)
        let marked = Array(String(decoding: bytes[lower..<upper], as: UTF8.self))
        let after = Array(String(decoding: bytes[upper..<end], as: UTF8.self))
        let half = Self.maximumLength / 2
        let kept = before.suffix(half).suffix(scalars: half)
        let shown = marked.prefix(half).prefix(scalars: half)
        let room = Self.maximumLength - String(kept + shown).unicodeScalars.count
        let rest = shown.count < marked.count ? [] : after.prefix(room).prefix(scalars: room)
        line = 1 + bytes[..<lower].count { $0 == 0x0A }
        column = before.count + 1
        // A tab or another control character would shift the mark.
        text = String((kept + shown + rest).map { $0.asciiValue ?? 32 < 32 ? " " : $0 })
        markStart = kept.count
        markLength = max(shown.count, 1)
    }
}

extension QueryError: CustomStringConvertible {
    package var description: String {
        var lines = [message]
        if let excerpt {
            lines[0] += " at line \(excerpt.line), column \(excerpt.column)"
            lines.append("  " + excerpt.text)
            lines.append(
                "  " + String(repeating: " ", count: excerpt.markStart)
                    + String(repeating: "^", count: excerpt.markLength))
        }
        if let hint { lines.append(hint) }
        return lines.joined(separator: "\n")
    }
}
