package import SheafDocument

/// Names, paths and parameters.
extension Parser {
    /// Parses a name that is not a keyword reserved in `context`.
    mutating func name(
        _ what: StaticString, in context: Keyword.Reservation = .everywhere
    ) throws(StoreError) -> Name {
        switch token.kind {
        case .quotedName: break
        case .word:
            let reservation = token.keyword?.reservation ?? .nowhere
            guard reservation == .nowhere || reservation.rawValue < context.rawValue else {
                let spelling = lexer.spelling(token)
                throw unexpected("\(what)", hint: "as a name, write it in backticks: `\(spelling)`")
            }
        case .colon, .placeholder: throw refusedParameter("\(what)")
        case .string:
            throw unexpected("\(what)", hint: "quotes are for strings; put names in backticks")
        default: throw unexpected("\(what)")
        }
        return try anyName(what)
    }

    /// Parses a name where no other token is possible, so that keywords are names as well.
    mutating func anyName(_ what: StaticString) throws(StoreError) -> Name {
        switch token.kind {
        case .word, .quotedName: break
        case .colon, .placeholder: throw refusedParameter("\(what)")
        default: throw unexpected("\(what)")
        }
        let name = Name(lexer.name(token), at: token.range)
        try advance()
        return name
    }

    func refusedParameter(_ what: String) -> StoreError {
        guard token.kind == .placeholder else {
            return unexpected(
                what, hint: "a parameter is a value, not a name or a path")
        }
        return unexpected(
            what,
            hint: "an interpolation is a value, not a name or a path; for a name, write "
                + "\\(identifier: ..)")
    }

    /// Parses dot-separated names.
    mutating func path(_ what: StaticString) throws(StoreError) -> Path {
        let first = try name(what)
        return try path(from: first.text, at: first.range)
    }

    /// Parses the rest of a path whose first name was already read.
    package mutating func path(from first: String, at range: SourceRange) throws(StoreError) -> Path
    {
        var names = [first]
        while token.kind == .dot {
            try advance()
            try checkTerms(
                names.count, "names in the path", limit: QueryLimits.maximumPathLength)
            guard token.kind != .star else {
                throw unexpected("a name", hint: ".* is only allowed as a column")
            }
            names.append(try step())
        }
        return Path(names, at: SourceRange(range.lower, previousEnd))
    }

    /// Parses a name after a dot, where a string is a name as well.
    private mutating func step() throws(StoreError) -> String {
        guard token.kind == .string else { return try anyName("a name").text }
        let name = try lexer.string(token)
        try advance()
        return name
    }

    /// Parses `:name` or `:$1`.
    mutating func parameter() throws(StoreError) -> Expression {
        let start = token
        if start.kind == .placeholder {
            let name = String(lexer.spelling(start).dropFirst())
            recordParameter(parameter: name)
            try advance()
            height = 0
            return Expression(.parameter(name), at: start.range)
        }
        try advance()
        guard token.kind != .placeholder else {
            throw unexpected(
                "the name of a parameter after the colon",
                hint: "remove the colon before the interpolated value")
        }
        guard token.kind == .word, token.lower == start.upper else {
            throw unexpected("the name of a parameter after the colon")
        }
        let name = lexer.spelling(token)
        recordParameter(parameter: name)
        try advance()
        height = 0
        return Expression(.parameter(name), at: SourceRange(start.lower, previousEnd))
    }
}
