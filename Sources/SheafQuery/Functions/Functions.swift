/// All functions by their names.
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

    /// The function of a name, in whatever case it is written.
    package static func named(_ name: String) -> Function? {
        all[name] ?? all[name.lowercased()]
    }

    /// The names of all functions, sorted.
    package static let names: [String] = all.keys.sorted()
}
