package import SheafDocument

extension Directives {
    /// Throws for invalid directives and for those that apply to single statements only.
    package static func check(_ directives: Object) throws(StoreError) {
        try PlanEnvironment.check(directives)
        guard strictness(in: [directives]) == nil else {
            throw StoreError(
                .meaning, "\(strictMode) applies to single statements only",
                hint: "set dql_strict_mode instead", page: strictMode)
        }
    }

    /// Throws for invalid directives in the text of a statement.
    static func check(_ directives: [Object], in text: String) throws(StoreError) {
        for directive in directives {
            for field in directive {
                do throws(StoreError) { try PlanEnvironment.check([field.name: field.value]) } catch
                {
                    throw error.located(at: "\"\(field.name)\"", in: text)
                }
            }
        }
    }
}

extension Statement {
    /// Throws for invalid directives; statements without a plan need this check.
    package func checkDirectives() throws(StoreError) {
        try Directives.check(directives, in: text)
    }
}
