import SheafDocument

/// The compiler of the columns of a statement into a projection.
enum ProjectionCompiler {
    static func compile(
        _ columns: [ResultColumn], _ compiler: ExpressionCompiler
    ) throws(StoreError) -> Projection {
        if columns.count == 1, case .all(nil, _) = columns[0] {
            let members = compiler.scope.members
            guard members.count > 1 else { return .document }
            return .rows(members.enumerated().map { ($0.element.name, $0.offset) })
        }
        var names = ColumnNames(compiler)
        try names.check(columns)
        var compiled: [ProjectedColumn] = []
        for (index, column) in columns.enumerated() {
            switch column {
            case .all(nil, let range):
                throw StoreError(
                    .meaning, "unqualified * with other projection elements is not supported",
                    hint: "write \(compiler.scope.members[0].name).*", at: range,
                    in: compiler.scope.text)
            case .all(let qualifier?, _):
                guard
                    let source = compiler.scope.members.firstIndex(where: {
                        $0.name.isSpelled(qualifier.text)
                    })
                else {
                    let names = compiler.scope.members.map(\.name)
                    throw StoreError(
                        .meaning, "no source is named \(qualifier.text)",
                        hint: Suggestion.nearest(to: qualifier.text, among: names).map {
                            "did you mean \($0)?"
                        }, at: qualifier.range, in: compiler.scope.text)
                }
                compiled.append(.all(source: source))
            case .expression(let expression, let alias):
                let name = ColumnNames.name(of: expression, alias, number: index + 1)
                compiled.append(.value(name: name, try value(of: expression, compiler)))
            }
        }
        let written = compiled.compactMap(\.name)
        guard written.count == compiled.count else { return .columns(compiled, names: nil) }
        // An object of sorted fields is made without sorting them for each row.
        compiled.sort { UTF8Order.compare($0.name ?? "", $1.name ?? "") < 0 }
        return .columns(compiled, names: written)
    }

    /// Returns the evaluator of a column.
    ///
    /// The name of the only collection denotes the field of that name, or else the document.
    static func value(
        of expression: Expression, _ compiler: ExpressionCompiler
    ) throws(StoreError) -> Evaluator {
        let field = try compiler.compile(expression).evaluator
        guard compiler.groups == nil, compiler.scope.isBareSource(expression) else { return field }
        let types = compiler.scope.members[0].types
        return { (frame) throws(StoreError) in
            if let value = try field(frame) { return value }
            return try frame.rows[0].object(types, frame.names).map(Value.object)
        }
    }
}

extension Projection {
    /// Names of the columns in order; nil if they depend on the documents.
    var columnNames: [String]? {
        switch self {
        case .document: return nil
        case .rows(let rows): return rows.map(\.name)
        case .columns(_, let names): return names
        }
    }

    /// Returns the result row for the current row context.
    func object(_ frame: RowContext, _ types: [FieldTypes]) throws(StoreError) -> Object {
        switch self {
        case .document: return try frame.rows[0].object(types[0], frame.names) ?? Object()
        case .rows(let rows):
            var object = Object()
            for (name, source) in rows {
                object[name] = try frame.rows[source].object(types[source], frame.names).map(
                    Value.object)
            }
            return object
        case .columns(let columns, let names):
            var fields: [Object.Field] = []
            var removed: [String] = []
            fields.reserveCapacity(columns.count)
            for column in columns {
                switch column {
                case .all(let source):
                    if let row = try frame.rows[source].object(types[source], frame.names) {
                        fields += row
                    }
                case .value(let name, let evaluator):
                    guard let value = try evaluator(frame) else {
                        removed.append(name)
                        continue
                    }
                    fields.append(Object.Field(name, value))
                }
            }
            var object = Object(sorting: fields)
            // A MISSING column removes a field that `*` added.
            if names == nil {
                for name in removed where object[name] != nil { object[name] = nil }
            }
            return object
        }
    }
}

extension ProjectedColumn {
    /// The name of a single value.
    fileprivate var name: String? {
        if case .value(let name, _) = self { name } else { nil }
    }
}
