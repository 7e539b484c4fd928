package import SheafDocument

/// Directives of a statement, or of `dql_default_directives` for all statements.
package enum Directives {
    /// Name of the directive that overrides `dql_strict_mode` for one statement.
    static let strictMode = "#strict_mode"
    /// Prefix of a statement in strict mode, regardless of `dql_strict_mode`.
    static let strict = "/*+ {\"\(strictMode)\":true} */ "

    /// Throws for unknown directives and for those that apply to single statements only.
    package static func check(_ directives: Object) throws(QueryError) {
        try PlanEnvironment.check(directives)
        guard strictness(in: [directives]) == nil else {
            throw QueryError(
                .meaning, "\(strictMode) applies to single statements only",
                hint: "set dql_strict_mode instead")
        }
    }

    /// Throws for unknown directives in the text of a statement.
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

    /// Whether directives leave all fields visible and contain no hints.
    static func areLenient(_ directives: [Object]) -> Bool {
        directives.allSatisfy { directive in
            directive.allSatisfy { $0.name.lowercased() == strictMode && $0.value == .bool(false) }
        }
    }

    /// Returns the last strictness set by the directives, or nil.
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
    /// Throws for unknown directives; statements without a plan need this check.
    package func checkDirectives() throws(QueryError) {
        try Directives.check(directives, in: text)
    }
}
