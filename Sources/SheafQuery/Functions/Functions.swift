/// The functions of the query language, by name.
package enum Functions {
    private static let lists: [[Function]] = [
        Function.numbers,
        Function.choices,
        Function.types,
        Function.arrays,
        Function.objects,
        Function.json,
        Function.texts,
        Function.dates,
    ]

    private static let all: [String: Function] = {
        var all: [String: Function] = [:]
        for function in lists.joined() {
            precondition(all[function.name] == nil, "Each function has a name of its own.")
            all[function.name] = function
        }
        return all
    }()

    /// Returns the function with a name in any case, or nil.
    package static func named(_ name: String) -> Function? {
        all[name] ?? all[name.lowercased()]
    }

    /// Names of all functions, sorted.
    package static let names: [String] = all.keys.sorted()

    /// Names in other databases and their counterparts in this language.
    private static let otherNames = [
        "array_append": "ARRAY .. FOR", "array_size": "array_length", "char": "cast",
        "current_timestamp": "clock", "datediff": "date_diff", "if": "CASE", "iif": "CASE",
        "instr": "pos", "is_missing": "ismissing", "is_null": "isnull", "len": "char_length",
        "length": "char_length", "mod": "the operator %", "now": "clock", "pow": "power",
        "regexp_matches": "regexp_like", "strpos": "pos", "substring": "substr",
        "to_string": "cast", "typeof": "type",
    ]

    /// Returns a suggestion for an unknown function name, or nil.
    static func suggestion(for name: String) -> String? {
        otherNames[name] ?? Suggestion.nearest(to: name, among: names)
    }
}
