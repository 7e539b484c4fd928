import SheafBytes
package import SheafDocument

/// Locations in the text of a statement.
extension StoreError {
    package init(
        _ reason: Reason, _ message: String, hint: String? = nil, page: String? = nil,
        at range: SourceRange, in statement: String
    ) {
        // The excerpt quotes the statement, so message and hint are shorter than without one.
        self.init(
            reason, message.shortened(to: ErrorText.limit),
            hint: hint?.shortened(to: ErrorText.limit), excerpt: Excerpt(range, of: statement),
            page: page ?? ReferenceLookup.page(at: range, of: statement))
    }

    /// Returns the error located at the first occurrence of `piece`; unchanged if there is none.
    package func located(at piece: String, in statement: String) -> StoreError {
        let (text, piece) = (Array(statement.utf8), Array(piece.utf8))
        guard !piece.isEmpty, piece.count <= text.count else { return self }
        let start = (0...text.count - piece.count).first { text[$0...].starts(with: piece) }
        guard let start else { return self }
        return located(at: SourceRange(start, start + piece.count), in: statement)
    }

    /// Returns the error with a location in the statement, unless it already has one.
    package func located(at range: SourceRange, in statement: String) -> StoreError {
        guard excerpt == nil else { return self }
        return StoreError(reason, message, hint: hint, page: page, at: range, in: statement)
    }

    /// Returns the error located at the first use of a parameter; unchanged if there is none.
    package func located(atParameter name: String, in statement: String) -> StoreError {
        var copy = statement
        let range = copy.withUTF8 { Self.range(ofParameter: name, in: Lexer($0)) }
        guard let range, excerpt == nil else { return self }
        return StoreError(
            reason, message, hint: hint, page: "arguments", at: range, in: statement)
    }

    private static func range(ofParameter name: String, in lexer: Lexer) -> SourceRange? {
        var lexer = lexer
        var colon: Token?
        while let token = try? lexer.next(), token.kind != .endOfStatement {
            if let colon, token.kind == .word, token.lower == colon.upper,
                lexer.spelling(token) == name
            {
                return colon.range.through(token.range)
            }
            colon = token.kind == .colon ? token : nil
        }
        return nil
    }
}

extension StoreError.Excerpt {
    /// Maximum number of characters shown; longer lines are cut on both sides of the mark.
    package static let maximumLength = 100

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
        self.init(
            line: 1 + bytes[..<lower].count { $0 == 0x0A },
            column: before.count + 1,
            // A tab or another control character would shift the mark.
            text: String((kept + shown + rest).map { $0.asciiValue ?? 32 < 32 ? " " : $0 }),
            markStart: kept.count, markLength: max(shown.count, 1))
    }
}
