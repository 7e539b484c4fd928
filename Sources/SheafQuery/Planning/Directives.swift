package import SheafDocument

/// Directives, as `dql_default_directives` sets them for all statements.
package enum Directives {
    /// Names the directive that overrides `dql_strict_mode` for one statement.
    static let strictMode = "#strict_mode"
    /// Precedes a statement whose undeclared fields are registers, whatever the parameter says.
    static let strict = "/*+ {\"\(strictMode)\":true} */ "

    /// Refuses what is no directive, or holds for single statements only.
    package static func check(_ directives: Object) throws(QueryError) {
        try PlanEnvironment.check(directives)
        guard strictness(in: [directives]) == nil else {
            throw QueryError(
                .meaning, "\(strictMode) is a directive of single statements",
                hint: "set dql_strict_mode instead")
        }
    }

    /// Refuses directives that stand in the text of a statement and are none.
    static func check(_ directives: [Object], in text: String) throws(QueryError) {
        for directive in directives {
            for field in directive {
                do throws(QueryError) { try PlanEnvironment.check([field.name: field.value]) } catch
                {
                    throw error.located(at: "\"\(field.name)\"", in: text)
                }
            }
        }
    }

    /// Whether directives leave fields what they show, and ask for nothing else.
    static func areLenient(_ directives: [Object]) -> Bool {
        directives.allSatisfy { directive in
            directive.allSatisfy { $0.name.lowercased() == strictMode && $0.value == .bool(false) }
        }
    }

    /// Returns the last strictness that directives set.
    static func strictness(in directives: [Object]) -> Bool? {
        var found: Bool?
        for directive in directives {
            for field in directive where field.name.lowercased() == strictMode {
                if case .bool(let value) = field.value { found = value }
            }
        }
        return found
    }
}

extension Statement {
    /// Refuses unknown directives; statements that find no documents have no plan, which would.
    package func checkDirectives() throws(QueryError) {
        try Directives.check(directives, in: text)
    }
}
