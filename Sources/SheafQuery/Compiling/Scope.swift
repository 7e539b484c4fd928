import SheafDocument

/// The names that are visible in a statement.
struct Scope {
    /// A source of the statement.
    struct Member {
        /// The alias, or the name of the collection.
        let name: String
        /// Whether the name is an alias.
        let hasAlias: Bool
        let types: FieldTypes
    }

    /// The meaning of a path.
    enum Target {
        case variable(Int, rest: [String])
        /// The complete row of a source.
        case row(Int)
        case id(Int, rest: [String])
        case field(Int, [String])
    }

    private(set) var members: [Member] = []
    /// Bound variables, innermost last.
    private var variables: [(name: String, index: Int)] = []
    private(set) var variableCount = 0
    let text: String

    init(text: String) {
        self.text = text
    }

    /// Adds a source; throws if an earlier source has the same name.
    mutating func add(_ source: Source, isStrict: Bool) throws(StoreError) {
        let name = Self.name(of: source)
        guard !members.contains(where: { $0.name.isSpelled(name) }) else {
            throw StoreError(
                .meaning, "two sources are named \(name)",
                hint: "give one of them an alias: \(source.name.text) AS other",
                at: (source.alias ?? source.name).range, in: text)
        }
        members.append(
            Member(
                name: name, hasAlias: source.alias != nil,
                types: FieldTypes(source.types, isStrict: isStrict)))
    }

    /// Returns the name of a source in its statement.
    static func name(of source: Source) -> String {
        if let alias = source.alias { return alias.text }
        let name = source.name.text
        guard let colon = name.lastIndex(of: ":") else { return name }
        return String(name[name.index(after: colon)...])
    }

    /// Number of bound variables.
    var boundCount: Int { variables.count }

    /// Binds a variable; returns its index in the row context.
    mutating func bind(_ name: String) -> Int {
        variables.append((name, variableCount))
        variableCount += 1
        return variableCount - 1
    }

    /// Removes the innermost variable; its index is not reused.
    mutating func unbind() {
        variables.removeLast()
    }

    func resolve(_ path: [String], at range: SourceRange) throws(StoreError) -> Target {
        guard let first = path.first else { preconditionFailure("A path has at least one name.") }
        if let variable = variables.last(where: { $0.name.isSpelled(first) }) {
            return .variable(variable.index, rest: Array(path.dropFirst()))
        }
        if let member = members.firstIndex(where: { $0.name.isSpelled(first) }) {
            if path.count > 1 { return field(member, Array(path.dropFirst())) }
            // A field may have the same name as its collection.
            if members[member].hasAlias || members.count > 1 { return .row(member) }
        }
        guard members.count == 1 else {
            guard !members.isEmpty else {
                throw StoreError(
                    .meaning, "there is no source for the field \(first) here",
                    at: range, in: text)
            }
            let choices = members.map { "\($0.name).\(first)" }.joined(separator: " or ")
            throw StoreError(
                .meaning, "the field \(first) is ambiguous", hint: "write \(choices)",
                at: range, in: text)
        }
        return field(0, path)
    }

    /// Whether an expression is the name of the only source, without an alias.
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
