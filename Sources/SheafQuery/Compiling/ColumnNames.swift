import SheafDocument

/// Names of the columns of a result; duplicates are errors.
struct ColumnNames {
    private let scope: Scope
    /// Names of the columns checked so far, as bytes.
    private var usedNames: Set<[UInt8]> = []

    init(_ compiler: ExpressionCompiler) {
        scope = compiler.scope
    }

    /// Returns the name of a column: its alias, the last name of its path, or its number.
    static func name(of expression: Expression, _ alias: Name?, number: Int) -> String {
        if let alias { return alias.text }
        if case .path(let path) = expression.node, let last = path.last { return last }
        return "($\(number))"
    }

    /// Throws if a column would hide another.
    mutating func check(_ columns: [ResultColumn]) throws(StoreError) {
        var all: Name?
        for column in columns {
            guard case .all(let qualifier?, let range) = column else { continue }
            if let first = all {
                throw StoreError(
                    .meaning,
                    "\(first.text).* and \(qualifier.text).* have fields of the same name, like _id",
                    hint: scope.members.count > 1
                        ? "write *, which nests each row under its name" : nil,
                    at: range, in: scope.text)
            }
            all = qualifier
        }
        for (index, column) in columns.enumerated() {
            guard case .expression(let expression, let alias) = column else { continue }
            let name = Self.name(of: expression, alias, number: index + 1)
            guard usedNames.insert(Array(name.utf8)).inserted else {
                throw StoreError(
                    .meaning, "two columns are named \(name)",
                    hint: remedy(for: expression, number: index + 1, columns),
                    at: alias?.range ?? expression.range, in: scope.text)
            }
            guard let all, alias == nil, case .path(let path) = expression.node,
                try !isField(path, expression.range, of: all.text)
            else { continue }
            throw StoreError(
                .meaning,
                "\(path.joined(separator: ".")) may hide the field \(name) of \(all.text).*",
                hint: remedy(for: expression, number: index + 1, columns),
                at: expression.range, in: scope.text)
        }
    }

    /// Whether a path is a top-level field of `source`, which hides only itself.
    private func isField(
        _ path: [String], _ range: SourceRange, of source: String
    ) throws(StoreError) -> Bool {
        switch try scope.resolve(path, at: range) {
        case .id(let member, let rest):
            rest.isEmpty && scope.members[member].name.isSpelled(source)
        case .field(let member, let path):
            path.count == 1 && scope.members[member].name.isSpelled(source)
        case .row, .variable: false
        }
    }

    /// Returns advice to give the column a unique alias.
    private func remedy(
        for expression: Expression, number: Int, _ columns: [ResultColumn]
    ) -> String {
        var alias = "column_\(number)"
        if case .path(let path) = expression.node {
            let words = path.map { $0.drop { $0 == "_" } }.filter { !$0.isEmpty }
            let letters = words.joined(separator: "_").utf8.map {
                Lexer.isNamePart($0) ? $0 : UInt8(ascii: "_")
            }
            alias = String(decoding: letters.prefix(40), as: UTF8.self)
        }
        var names: [String] = []
        for (index, column) in columns.enumerated() {
            guard case .expression(let other, let given) = column else { continue }
            names.append(Self.name(of: other, given, number: index + 1))
        }
        if alias.isEmpty || names.hasSpelling(alias) { alias = "column_\(number)" }
        let text = expression.description
        return text.utf8.count <= 60 ? "write \(text) AS \(alias)" : "name it with AS \(alias)"
    }
}
