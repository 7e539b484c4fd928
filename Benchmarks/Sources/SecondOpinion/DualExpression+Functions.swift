/// Numeric and general functions in both languages.
extension DualExpression {
    /// Returns a function call that is missing if one of its arguments is missing.
    static func call(
        _ name: String, _ arguments: [DualExpression], kind: Kind, limits: Limits = Limits(),
        _ value: ([String]) -> String
    ) -> DualExpression {
        strict("\(name)(\(list(arguments)))", arguments, kind: kind, limits: limits, value)
    }

    /// Returns an expression that is missing if one of its operands is missing.
    static func strict(
        _ sheaf: String, _ arguments: [DualExpression], kind: Kind, limits: Limits,
        _ value: ([String]) -> String
    ) -> DualExpression {
        DualExpression(
            sheaf: sheaf, value: "(\(value(arguments.map(\.value))))",
            missing: SQL.or(arguments.map(\.missing)), kind: kind, limits: limits,
            isConstant: arguments.allSatisfy(\.isConstant))
    }

    /// Joins the texts of the arguments for Sheaf with commas.
    static func list(_ arguments: [DualExpression]) -> String {
        arguments.map(\.sheaf).joined(separator: ", ")
    }

    // MARK: Numbers

    /// Returns `abs`, which fails in SQLite for the least integer.
    static func absolute(_ operand: DualExpression) -> DualExpression {
        let operand = operand.taken(as: .number)
        return call("abs", [operand], kind: .number, limits: operand.limits) { "abs(\($0[0]))" }
    }

    /// Returns `ceil`, `floor` or `round`, which leave integers unchanged.
    static func rounded(_ name: String, _ operand: DualExpression) -> DualExpression {
        let operand = operand.taken(as: .number)
        var limits = operand.limits
        limits.bound += 1
        limits.fractionBits = 0
        return call(name, [operand], kind: .number, limits: limits) {
            "CASE typeof(\($0[0])) WHEN 'integer' THEN \($0[0]) ELSE \(name)(\($0[0])) END"
        }
    }

    /// Returns `sign`: -1, 0 or 1.
    static func sign(_ operand: DualExpression) -> DualExpression {
        let limits = Limits(isInteger: true, bound: 1, fractionBits: 0)
        return call("sign", [operand.taken(as: .number)], kind: .number, limits: limits) {
            "sign(\($0[0]))"
        }
    }

    /// Returns `sqrt`, which is missing for negative numbers.
    static func squareRoot(_ operand: DualExpression) -> DualExpression {
        let operand = operand.taken(as: .number)
        var limits = Limits()
        limits.bound = operand.limits.bound
        var dual = call("sqrt", [operand], kind: .number, limits: limits) { "sqrt(\($0[0]))" }
        dual.missing = SQL.or([dual.missing, "(ifnull(\(operand.value), 0) < 0)"])
        return dual
    }

    /// Returns `round` to the given number of digits.
    static func rounded(_ operand: DualExpression, digits: Int) -> DualExpression {
        let operand = operand.taken(as: .number)
        return strict(
            "round(\(operand.sheaf), \(digits))", [operand], kind: .number, limits: Limits()
        ) {
            "CASE typeof(\($0[0])) WHEN 'integer' THEN \($0[0]) ELSE round(\($0[0]), \(digits)) END"
        }
    }

    // MARK: Choices and types

    /// Returns `coalesce`, which is null if all operands are null or missing.
    static func coalesced(_ operands: [DualExpression]) -> DualExpression {
        var dual = choice(operands)
        dual.sheaf = "coalesce(\(list(operands)))"
        dual.value = "coalesce(\(operands.map(\.value).joined(separator: ", ")))"
        return dual
    }

    /// Returns `ifmissing`, `ifnull` or `nvl`: the second operand if the first is missing, is null,
    /// or is either.
    static func alternative(_ name: String, _ first: DualExpression, _ second: DualExpression)
        -> DualExpression
    {
        let isUnfit =
            switch name {
            case "ifmissing": first.missing
            case "ifnull": SQL.and(["(\(first.value) IS NULL)", SQL.not(first.missing)])
            default: "(\(first.value) IS NULL)"
            }
        var dual = choice([first, second])
        dual.sheaf = "\(name)(\(first.sheaf), \(second.sheaf))"
        dual.value = "(CASE WHEN \(isUnfit) THEN \(second.value) ELSE \(first.value) END)"
        if first.missing != SQL.no || second.missing != SQL.no {
            dual.missing = "(CASE WHEN \(isUnfit) THEN \(second.missing) ELSE \(first.missing) END)"
        }
        return dual
    }

    /// Returns `decode`, which matches null with null and missing with missing.
    static func decoded(
        _ subject: DualExpression, _ pairs: [(DualExpression, DualExpression)],
        _ otherwise: DualExpression
    ) -> DualExpression {
        var dual = choice(pairs.map(\.1) + [otherwise])
        let conditions = pairs.map { candidate, _ in
            // SQLite conditions are integers, so `=` compares their truth.
            "(\(subject.value) IS \(candidate.value) "
                + "AND (\(subject.missing)) = (\(candidate.missing)))"
        }
        func cases(_ result: (DualExpression) -> String) -> String {
            let branches = zip(conditions, pairs).map { "WHEN \($0) THEN \(result($1.1))" }
            return "(CASE \(branches.joined(separator: " ")) ELSE \(result(otherwise)) END)"
        }
        let texts = [subject] + pairs.flatMap { [$0.0, $0.1] } + [otherwise]
        dual.sheaf = "decode(\(list(texts)))"
        dual.value = cases(\.value)
        dual.missing = cases(\.missing)
        return dual
    }

    /// Returns `nullif` or `missingif`.
    static func unless(_ name: String, _ first: DualExpression, _ second: DualExpression)
        -> DualExpression
    {
        let equals = "(\(comparison("=", first, second).value) IS 1)"
        var dual = first
        dual.sheaf = "\(name)(\(first.sheaf), \(second.sheaf))"
        dual.strength = .atom
        dual.value = "(CASE WHEN NOT \(equals) THEN \(first.value) END)"
        if name == "missingif" { dual.missing = SQL.or([first.missing, equals]) }
        dual.isConstant = first.isConstant && second.isConstant
        return dual
    }

    /// Returns `type`.
    static func type(_ operand: DualExpression) -> DualExpression {
        let known =
            operand.kind == .boolean
            ? "CASE typeof(\(operand.value)) WHEN 'null' THEN 'null' ELSE 'boolean' END"
            : "CASE typeof(\(operand.value)) WHEN 'real' THEN 'float' WHEN 'text' THEN 'string' "
                + "ELSE typeof(\(operand.value)) END"
        return DualExpression(
            sheaf: "type(\(operand.sheaf))",
            value: "(CASE WHEN \(operand.missing) THEN 'missing' ELSE \(known) END)", kind: .text,
            limits: Limits(bound: 7, isASCII: true), isConstant: operand.isConstant)
    }

    /// Returns `ismissing`, `isnull` or `ismissingornull`.
    static func question(_ name: String, _ operand: DualExpression) -> DualExpression {
        let value =
            switch name {
            case "ismissing": operand.missing
            case "isnull": SQL.and(["(\(operand.value) IS NULL)", SQL.not(operand.missing)])
            default: "(\(operand.value) IS NULL)"
            }
        return DualExpression(
            sheaf: "\(name)(\(operand.sheaf))", value: value, kind: .boolean,
            isConstant: operand.isConstant)
    }

    /// Returns `cast` of a number to a text, or between integers and floats.
    static func cast(_ operand: DualExpression, to type: String) -> DualExpression {
        var limits = operand.limits
        switch type {
        case "string": limits = Limits(bound: 24, isASCII: true)
        case "integer": (limits.isInteger, limits.fractionBits) = (true, 0)
        default: limits.isInteger = false
        }
        let names = ["string": "TEXT", "integer": "INTEGER", "float": "REAL"]
        let name = names[type] ?? type
        // The unary plus removes the affinity, with which numbers could equal texts.
        return strict(
            "cast(\(operand.sheaf) AS \(type))", [operand],
            kind: type == "string" ? .text : .number, limits: limits
        ) { "+CAST(\($0[0]) AS \(name))" }
    }
}
