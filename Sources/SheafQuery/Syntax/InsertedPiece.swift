import SheafBytes

/// A piece that a program put into the text of a statement.
package struct InsertedPiece: Sendable {
    package enum Kind: Sendable {
        /// `:$1`, which stands for the value of an argument.
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

    /// Why the first of these pieces that is not read as what it is cannot be; nil where all are,
    /// as far as the text is made of tokens.
    package static func misplacement(
        of pieces: [InsertedPiece], in text: String
    ) -> QueryError? {
        var copy = text
        let found = copy.withUTF8 { firstMisplaced(of: pieces, in: Lexer($0)) }
        return found.map { $0.piece.misplacement(in: $0.place, of: text) }
    }

    // MARK: Where it stands

    private enum Place {
        case comment
        case token(Token)
    }

    private static func firstMisplaced(
        of pieces: [InsertedPiece], in lexer: Lexer
    ) -> (piece: InsertedPiece, place: Place)? {
        var lexer = lexer
        var rest = pieces[...]
        while let piece = rest.first {
            // Where tokens end, the parser has said why.
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

    // MARK: What is wrong with it

    private func misplacement(in place: Place, of text: String) -> QueryError {
        let name = description(in: text)
        let (message, hint) =
            switch place {
            case .comment: ("\(name) stands in a comment", "take it out: nobody would read it")
            case .token(let token): problem(name, in: token)
            }
        return QueryError(.syntax, message, hint: hint, at: range, in: text)
    }

    private func problem(_ name: String, in token: Token) -> (String, String) {
        switch token.kind {
        case .string:
            (
                "\(name) stands in quotes",
                kind == .value
                    ? "drop the quotes: it is an argument, which needs none"
                    : "drop the quotes: a name comes with its backticks"
            )
        case .directive:
            ("\(name) stands in a directive", "write directives out: they have no arguments")
        case .quotedName where token.lower < range.lower:
            (
                "\(name) stands in backticks",
                kind == .value
                    ? "drop the backticks; as a name it is \\(identifier: ..)"
                    : "drop the backticks: a name comes with its own"
            )
        default:
            ("more stands right behind \(name)", "put a space between them")
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
    /// Refuses pieces of the text that the parser has met as something else, or not at all.
    ///
    /// What stands in quotes would silently be a text, and a name between them could end them.
    package func check(_ pieces: [InsertedPiece]) throws(QueryError) {
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
        // Without interpolated values, these are parameters like others.
        guard placeholders.isEmpty || valueCount == 0 else { throw mismatch(pieces) }
    }

    private func mismatch(_ pieces: [InsertedPiece]) -> QueryError {
        if let error = InsertedPiece.misplacement(of: pieces, in: text) { return error }
        // All pieces are tokens of their own, so there are more placeholders than pieces.
        let inserted = Set(pieces.map(\.range))
        let foreign = placeholders.first { !inserted.contains($0) } ?? SourceRange(0, 0)
        let name = String(
            decoding: text.utf8.dropFirst(foreign.lower).prefix(
                foreign.upper - foreign.lower), as: UTF8.self)
        return QueryError(
            .syntax, "\(name) is written out, and such names are those of interpolated values",
            hint: "give the parameter another name, such as :color", at: foreign, in: text)
    }
}
