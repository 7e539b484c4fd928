/// The position in a statement at which a word is completed.
package struct CompletionContext: Equatable, Sendable {
    /// The kinds of words that are valid at the position.
    package enum Expectation: Equatable, Sendable {
        /// The first word of a statement.
        case statement
        /// A collection; `system:` collections only if `isReading`.
        case collection(isReading: Bool)
        /// A name after `system:`.
        case systemCollection
        /// A field within the object at a path, whose first name may be a collection or an alias.
        case field(of: [String])
        /// A keyword, field or function.
        case expression
        /// A keyword after a collection that is read, such as AS OF.
        case continuation
        /// One of some words.
        case words([String])
        /// The name of a system parameter.
        case parameter
        /// Within a string or comment, or after the colon of an argument.
        case nothing
    }

    /// A collection that the statement names.
    package struct Source: Equatable, Sendable {
        package let collection: String
        package let alias: String?

        package init(collection: String, alias: String?) {
            (self.collection, self.alias) = (collection, alias)
        }
    }

    package private(set) var expectation = Expectation.statement
    /// The part of the word that precedes the position.
    package private(set) var prefix = ""
    /// Whether the word begins with a backtick.
    package private(set) var isQuoted = false
    /// The collections of the statement, also those after the position.
    package private(set) var sources: [Source] = []

    /// Creates the context of the position between two texts.
    package init(before: String, after: String) {
        let statement = StatementSplitter(before).rest.text
        let hasSpace = before.utf8.last.map { $0 == 0x20 || $0 == 0x0A || $0 == 0x09 } ?? true
        let tail = statement + (hasSpace ? " " : "")
        let next = StatementSplitter(after)
        let rest = next.statements.first?.text ?? next.rest.text
        let (words, openDelimiter) = Self.words(tail)
        examine(words, openDelimiter, tail, endsWord: !hasSpace)
        // The word at the position is not an alias yet.
        let known = String(tail.unicodeScalars.dropLast(prefix.unicodeScalars.count))
        sources = Self.sources(of: Self.words(known + " " + rest).words)
    }

    /// A token with the text it denotes.
    private struct Word {
        let token: Token
        let text: String
    }

    private static func words(_ text: String) -> (words: [Word], open: (OpenDelimiter, Int)?) {
        var text = text
        return text.withUTF8 { bytes in
            var lexer = Lexer(bytes, locatesErrors: false)
            var words: [Word] = []
            while lexer.offset < bytes.count {
                let before = lexer.offset
                guard let token = try? lexer.next() else {
                    if let delimiter = lexer.openDelimiter { return (words, (delimiter, before)) }
                    lexer.offset = max(lexer.offset, before + 1)
                    continue
                }
                guard token.kind != .endOfStatement else { break }
                let isName = token.kind == .word || token.kind == .quotedName
                words.append(
                    Word(token: token, text: isName ? lexer.name(token) : lexer.spelling(token)))
            }
            return (words, nil)
        }
    }

    private mutating func examine(
        _ words: [Word], _ open: (delimiter: OpenDelimiter, start: Int)?, _ text: String,
        endsWord: Bool
    ) {
        var words = words
        if let open {
            guard open.delimiter == .backtick else {
                expectation = .nothing
                return
            }
            isQuoted = true
            let piece = String(decoding: Array(text.utf8)[open.start...], as: UTF8.self)
            prefix =
                piece.firstIndex(of: "`").map { String(piece[piece.index(after: $0)...]) } ?? ""
        } else if endsWord, let last = words.last, last.token.kind == .word {
            prefix = last.text
            words.removeLast()
        } else if endsWord, let last = words.last,
            [.integer, .float, .string, .hexadecimal, .quotedName].contains(last.token.kind)
        {
            expectation = .nothing
            return
        }
        expectation = Self.expectation(after: words)
    }

    /// Returns what may follow the source of a statement that reads, up to the operand of AS OF.
    private static func continuation(after words: [Word]) -> Expectation? {
        var rest = words[...]
        var expectation = Expectation.continuation
        if rest.last?.token.keyword == .as {
            rest.removeLast()
            expectation = .words(["OF", "OF COMMIT"])
        } else if rest.last?.token.keyword == .of, rest.dropLast().last?.token.keyword == .as {
            rest.removeLast(2)
            expectation = .words(["COMMIT"])
        }
        guard let name = rest.popLast(), isName(name) else { return nil }
        if rest.last?.token.keyword == .collection { rest.removeLast() }
        switch rest.last?.token.keyword {
        case .from, .join: break
        default: return nil
        }
        let first = words[0].token.keyword
        return first == .delete || first == .evict ? nil : expectation
    }

    private static func expectation(after words: [Word]) -> Expectation {
        guard let last = words.last else { return .statement }
        switch last.token.kind {
        case .dot:
            var path: [String] = []
            var index = words.count - 1
            while index >= 1, words[index].token.kind == .dot,
                [.word, .quotedName, .string].contains(words[index - 1].token.kind)
            {
                path.insert(words[index - 1].text, at: 0)
                index -= 2
            }
            return .field(of: path)
        case .colon:
            let name = words.dropLast().last
            return name?.token.keyword == .system ? .systemCollection : .nothing
        default: break
        }
        let first = words[0].token.keyword
        switch last.token.keyword {
        case .from, .join: return .collection(isReading: first != .delete && first != .evict)
        case .into: return .collection(isReading: false)
        case .update where words.count <= 2: return .collection(isReading: false)
        case .on where first == .create || first == .drop: return .collection(isReading: false)
        case .collection: return .collection(isReading: false)
        case .explain, .profile, .advise: return .statement
        case .show: return .parameter
        case .set where first == .alter, .reset where first == .alter: return .parameter
        default: return continuation(after: words) ?? .expression
        }
    }

    /// Returns the collections after FROM, JOIN, INTO, UPDATE and ON, with their aliases.
    private static func sources(of words: [Word]) -> [Source] {
        var sources: [Source] = []
        let isIndex = words.first?.token.keyword == .create
        var index = 0
        while index < words.count {
            defer { index += 1 }
            var hasAlias = false
            switch words[index].token.keyword {
            case .from, .join: hasAlias = true
            case .into, .update: break
            case .on where isIndex: break
            default: continue
            }
            var next = index + 1
            if next < words.count, words[next].token.keyword == .collection { next += 1 }
            guard next < words.count, isName(words[next]) else { continue }
            var name = words[next].text
            if words[next].token.keyword == .system, next + 2 < words.count,
                words[next + 1].token.kind == .colon
            {
                name = "system:" + words[next + 2].text
                next += 2
            }
            next = endOfAsOf(words, from: next + 1)
            if next < words.count, words[next].token.keyword == .as { next += 1 }
            hasAlias = hasAlias && next < words.count && isAlias(words[next])
            sources.append(Source(collection: name, alias: hasAlias ? words[next].text : nil))
        }
        return sources
    }

    /// Returns the index after AS OF and its operand, or `start` if there is none.
    private static func endOfAsOf(_ words: [Word], from start: Int) -> Int {
        guard start + 1 < words.count, words[start].token.keyword == .as,
            words[start + 1].token.keyword == .of
        else { return start }
        var next = start + 2
        if next < words.count, words[next].token.keyword == .commit { next += 1 }
        guard next < words.count else { return next }
        switch words[next].token.kind {
        case .colon: return next + 2
        case .leftParenthesis:
            var depth = 0
            while next < words.count {
                if words[next].token.kind == .leftParenthesis { depth += 1 }
                if words[next].token.kind == .rightParenthesis { depth -= 1 }
                next += 1
                if depth == 0 { break }
            }
            return next
        default: return next + 1
        }
    }

    private static func isName(_ word: Word) -> Bool {
        word.token.kind == .quotedName || word.token.kind == .word
    }

    private static func isAlias(_ word: Word) -> Bool {
        word.token.kind == .quotedName
            || (word.token.kind == .word
                && (word.token.keyword?.reservation ?? .nowhere) == .nowhere)
    }
}

/// The spelling of names in statements.
package enum NameSpelling {
    /// Returns the name, in backticks if it could be read as something else.
    package static func text(of name: String) -> String {
        var copy = name
        let isPlain = copy.withUTF8 { bytes in
            var lexer = Lexer(bytes, locatesErrors: false)
            guard let token = try? lexer.next(), token.kind == .word, token.lower == 0,
                token.upper == bytes.count
            else { return false }
            return (token.keyword?.reservation ?? .nowhere) == .nowhere
        }
        return isPlain ? name : quoted(name)
    }

    /// Returns the name in backticks.
    package static func quoted(_ name: String) -> String {
        var text = "`"
        guard name.utf8.contains(UInt8(ascii: "`")) else {
            text += name
            text += "`"
            return text
        }
        // A backtick with a combining mark is another character, but the same scalar.
        for scalar in name.unicodeScalars {
            text.unicodeScalars.append(scalar)
            if scalar == "`" { text.unicodeScalars.append(scalar) }
        }
        text.unicodeScalars.append("`")
        return text
    }
}
