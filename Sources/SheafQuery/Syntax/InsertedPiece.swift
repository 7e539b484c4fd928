import SheafBytes
package import SheafDocument

/// A placeholder or name that string interpolation inserted into a statement.
package struct InsertedPiece: Sendable {
    package enum Kind: Sendable {
        /// `:$1`, the placeholder of an argument.
        case value
        /// A name in backticks.
        case name
    }

    package let kind: Kind
    package let range: SourceRange

    package init(_ kind: Kind, at range: SourceRange) {
        self.kind = kind
        self.range = range
    }

    /// Returns an error for the first piece that is not a token of its kind; nil if none is found.
    ///
    /// The search ends at the first lexical error.
    package static func misplacement(
        of pieces: [InsertedPiece], in text: String
    ) -> StoreError? {
        var copy = text
        let found = copy.withUTF8 { firstMisplaced(of: pieces, in: Lexer($0)) }
        return found.map { $0.piece.misplacement(in: $0.position, of: text) }
    }

    // MARK: Search

    private enum Position {
        case comment
        case token(Token)
    }

    private static func firstMisplaced(
        of pieces: [InsertedPiece], in lexer: Lexer
    ) -> (piece: InsertedPiece, position: Position)? {
        var lexer = lexer
        var rest = pieces[...]
        while let piece = rest.first {
            // The parser has already reported lexical errors.
            guard let token = try? lexer.next() else { return nil }
            if piece.range.lower < token.lower { return (piece, .comment) }
            guard piece.range.lower < token.upper else { continue }
            guard token.kind == piece.tokenKind, token.range == piece.range else {
                return (piece, .token(token))
            }
            rest.removeFirst()
        }
        return nil
    }

    private var tokenKind: Token.Kind {
        switch kind {
        case .value: .placeholder
        case .name: .quotedName
        }
    }

    // MARK: Errors

    private func misplacement(in position: Position, of text: String) -> StoreError {
        let name = description(in: text)
        let (message, hint) =
            switch position {
            case .comment: ("\(name) is in a comment", "remove it: comments are ignored")
            case .token(let token): problem(name, in: token)
            }
        return StoreError(
            .syntax, message, hint: hint, page: "arguments", at: range, in: text)
    }

    private func problem(_ name: String, in token: Token) -> (String, String) {
        switch token.kind {
        case .string:
            (
                "\(name) is in quotes",
                kind == .value
                    ? "remove the quotes: it is an argument"
                    : "remove the quotes: the name already has backticks"
            )
        case .directive:
            ("\(name) is in a directive", "directives cannot contain interpolated values")
        case .quotedName where token.lower < range.lower:
            (
                "\(name) is in backticks",
                kind == .value
                    ? "remove the backticks; for a name, write \\(identifier: ..)"
                    : "remove the backticks: the name already has them"
            )
        default:
            ("a space is missing after \(name)", "put a space after it")
        }
    }

    private static let maximumNameLength = 40

    private func description(in text: String) -> String {
        let bytes = text.utf8.dropFirst(range.lower).prefix(range.upper - range.lower)
        let spelling = String(decoding: bytes, as: UTF8.self)
        let shown = spelling.shortened(to: Self.maximumNameLength)
        return kind == .value ? "the interpolated value \(shown)" : "the interpolated name \(shown)"
    }
}

extension Statement {
    /// Throws unless the parser read each piece as a placeholder or name.
    ///
    /// Within quotes, a value would become part of a string and a name could end the string.
    package func check(_ pieces: [InsertedPiece]) throws(StoreError) {
        guard !pieces.isEmpty else { return }
        var placeholders = placeholders[...]
        var names = quotedNames[...]
        var valueCount = 0
        for piece in pieces {
            let met: SourceRange?
            switch piece.kind {
            case .value:
                met = placeholders.popFirst()
                valueCount += 1
            case .name:
                names = names.drop { $0.lower < piece.range.lower }
                met = names.popFirst()
            }
            guard met == piece.range else { throw mismatch(pieces) }
        }
        // Without interpolated values, placeholders are ordinary parameters.
        guard placeholders.isEmpty || valueCount == 0 else { throw mismatch(pieces) }
    }

    private func mismatch(_ pieces: [InsertedPiece]) -> StoreError {
        if let error = InsertedPiece.misplacement(of: pieces, in: text) { return error }
        // All pieces are tokens, so the text has more placeholders than pieces.
        let inserted = Set(pieces.map(\.range))
        let foreign = placeholders.first { !inserted.contains($0) } ?? SourceRange(0, 0)
        let name = String(
            decoding: text.utf8.dropFirst(foreign.lower).prefix(
                foreign.upper - foreign.lower), as: UTF8.self)
        return StoreError(
            .syntax, "\(name) is a name reserved for interpolated values",
            hint: "give the parameter another name, such as :color", page: "arguments",
            at: foreign, in: text)
    }
}
