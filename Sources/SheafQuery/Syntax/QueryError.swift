import SheafBytes

/// Where a piece of a statement stands, in bytes.
package struct SourceRange: Hashable, Sendable {
    package let lower: Int
    package let upper: Int

    package init(_ lower: Int, _ upper: Int) {
        self.lower = lower
        self.upper = upper
    }

    /// From the start of this one to the end of another.
    package func through(_ other: SourceRange) -> SourceRange {
        SourceRange(lower, max(upper, other.upper))
    }
}

/// Why a statement cannot be run, and where in it that shows.
package struct QueryError: Error, Equatable, Sendable {
    package enum Reason: Equatable, Sendable {
        /// The statement is not written as the language wants it.
        case syntax
        /// It is written well and means nothing: unknown names, or what cannot go together.
        case meaning
        /// An argument is missing or is not what it has to be.
        case argument
        /// Something is more than a limit allows.
        case limit
        /// What the statement does cannot be done to the documents that there are.
        case conflict
        /// The bytes of a document are not what its format says.
        case damaged
        /// The statement took longer than it may.
        case timedOut
        /// Who asked for it does not want it any more.
        case cancelled
        /// What the statement runs in has failed, or does not allow it.
        case failed
    }

    /// A line of the statement with a mark below it.
    package struct Excerpt: Equatable, Sendable {
        /// From 1, in characters.
        package let line: Int
        package let column: Int
        package let text: String
        /// The place of the mark in the text, and how long it is, in characters.
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

    /// A reference: whatever throws has room for an error on its stack, and parsers recurse.
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
    /// What would be right, as a sentence; `did you mean FROM?`.
    package var hint: String? { details.hint }
    package var excerpt: Excerpt? { details.excerpt }
    /// The place of the document that is damaged; zero where there is none, or it is not known.
    package var document: UInt64 { details.document }

    /// The same error where a piece of the statement stands first; without a place, if it does not.
    package func located(at piece: String, in statement: String) -> QueryError {
        let (text, piece) = (Array(statement.utf8), Array(piece.utf8))
        guard !piece.isEmpty, piece.count <= text.count else { return self }
        let place = (0...text.count - piece.count).first { text[$0...].starts(with: piece) }
        guard let place else { return self }
        return located(at: SourceRange(place, place + piece.count), in: statement)
    }

    /// The same error with a place in a statement, unless it has one already.
    package func located(at range: SourceRange, in statement: String) -> QueryError {
        guard excerpt == nil else { return self }
        return QueryError(reason, message, hint: hint, at: range, in: statement)
    }
}

extension QueryError.Excerpt {
    /// Longer lines are cut off on both sides of the mark.
    private static let maximumLength = 100

    /// The line on which a range begins.
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
        // A tab or another control character would move the mark.
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
