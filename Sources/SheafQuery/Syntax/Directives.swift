import SheafDocument

/// Directives of a statement, or of `dql_default_directives` for all statements.
package enum Directives {
    /// Name of the directive that overrides `dql_strict_mode` for one statement.
    static let strictMode = "#strict_mode"
    /// The names of all directives.
    package static let names = [
        "#index", "#disable_index_scan", "#prefer_order", "#max_scans", "#intersects", "#max_joins",
        strictMode,
    ]
    /// Prefix of a statement in strict mode, regardless of `dql_strict_mode`.
    static let strict = "/*+ {\"\(strictMode)\":true} */ "

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
