/// What names in a statement stand for.
struct Scope {
    /// A source that a name may begin with.
    struct Member {
        /// The alias, or the name of the collection.
        let name: String
        /// Whether the name was chosen for this statement.
        let hasAlias: Bool
        let types: FieldTypes
    }

    /// What a path leads to.
    enum Target {
        case variable(Int, rest: [String])
        /// All of a row.
        case row(Int)
        case id(Int, rest: [String])
        case field(Int, [String])
    }

    private(set) var members: [Member] = []
    /// The variables that are bound here, the innermost last.
    private var variables: [(name: String, index: Int)] = []
    private(set) var variableCount = 0
    let text: String

    init(text: String) {
        self.text = text
    }

    /// Adds a source.
    mutating func add(_ source: Source, isStrict: Bool) throws(QueryError) {
        let name = Self.name(of: source)
        guard !members.contains(where: { $0.name.isSpelled(name) }) else {
            throw QueryError(
                .meaning, "two sources are called \(name)",
                hint: "give one of them an alias: \(source.name.text) AS other",
                at: (source.alias ?? source.name).range, in: text)
        }
        members.append(
            Member(
                name: name, hasAlias: source.alias != nil,
                types: FieldTypes(source.types, isStrict: isStrict)))
    }

    /// What a source is called in its statement.
    static func name(of source: Source) -> String {
        if let alias = source.alias { return alias.text }
        let name = source.name.text
        guard let colon = name.lastIndex(of: ":") else { return name }
        return String(name[name.index(after: colon)...])
    }

    /// How many variables are bound here.
    var boundCount: Int { variables.count }

    /// The same with one more variable; returns its place.
    mutating func bind(_ name: String) -> Int {
        variables.append((name, variableCount))
        variableCount += 1
        return variableCount - 1
    }

    /// Forgets what was bound last; its place stays taken.
    mutating func unbind() {
        variables.removeLast()
    }

    func resolve(_ path: [String], at range: SourceRange) throws(QueryError) -> Target {
        guard let first = path.first else { preconditionFailure("A path has a name.") }
        if let variable = variables.last(where: { $0.name.isSpelled(first) }) {
            return .variable(variable.index, rest: Array(path.dropFirst()))
        }
        if let member = members.firstIndex(where: { $0.name.isSpelled(first) }) {
            if path.count > 1 { return field(member, Array(path.dropFirst())) }
            // A field may well be called like its collection.
            if members[member].hasAlias || members.count > 1 { return .row(member) }
        }
        guard members.count == 1 else {
            guard !members.isEmpty else {
                throw QueryError(
                    .meaning, "there is no document here that \(first) could be a field of",
                    at: range, in: text)
            }
            let choices = members.map { "\($0.name).\(first)" }.joined(separator: " or ")
            throw QueryError(
                .meaning, "it is not clear whose field \(first) is", hint: "write \(choices)",
                at: range, in: text)
        }
        return field(0, path)
    }

    /// Whether an expression is the name of the only source, which is no alias.
    func isBareSource(_ expression: Expression) -> Bool {
        guard case .path(let path) = expression.node, path.count == 1, members.count == 1,
            !members[0].hasAlias
        else { return false }
        return members[0].name.isSpelled(path[0])
    }

    private func field(_ member: Int, _ path: [String]) -> Target {
        path[0] == Row.idName ? .id(member, rest: Array(path.dropFirst())) : .field(member, path)
    }
}
