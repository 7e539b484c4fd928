package import SheafDocument
package import SheafQuery

/// The ordered rows of a SELECT, before LIMIT and OFFSET.
package struct NaiveRows {
    package struct Row {
        package internal(set) var object: Object
        /// The sort keys; rows with equal keys may appear in any order.
        package let keys: [Value?]
        /// The id of the first source's document, for statements that write.
        package let id: Value?
    }

    package internal(set) var rows: [Row] = []
    package internal(set) var limit: Int?
    package internal(set) var offset = 0
    /// Whether any of several equal values, such as 1 and 1.0, is accepted.
    package internal(set) var isLoose = false

    /// The ranges of rows with equal keys.
    package internal(set) var runs: [Range<Int>] = []

    /// The range of rows that LIMIT and OFFSET select.
    package var shown: Range<Int> {
        let lower = min(offset, rows.count)
        return lower..<lower + min(limit ?? rows.count, rows.count - lower)
    }
}

/// A naive SELECT over decoded documents, which visits every row of every source.
package struct NaiveSelect {
    private typealias Joined = [Object?]

    var select: Select
    private let documents: (String) -> [Value: Object]
    var evaluator: NaiveEvaluator

    /// The ORDER BY terms, with column numbers and aliases resolved.
    var order: [(expression: Expression, isColumn: Bool)] = []

    package init(
        _ select: Select, _ arguments: [String: Value], _ context: FunctionContext,
        documents: @escaping (String) -> [Value: Object]
    ) {
        self.select = select
        self.documents = documents
        evaluator = NaiveEvaluator(
            [select.source] + select.joins.map(\.source), arguments, context)
    }

    /// Returns the rows of RETURNING for the given documents.
    package static func returning(
        _ columns: [ResultColumn], _ source: Source, _ objects: [Object],
        _ arguments: [String: Value], _ context: FunctionContext
    ) throws(StoreError) -> NaiveRows {
        let select = Select(columns: columns, source: source)
        var naive = NaiveSelect(select, arguments, context) { _ in [:] }
        try naive.replaceColumnNames()
        return try naive.result(of: objects.map { [$0] })
    }

    /// Returns all rows in order.
    package mutating func run() throws(StoreError) -> NaiveRows {
        try replaceColumnNames()
        var rows = try source()
        for (number, join) in select.joins.enumerated() {
            rows = try joined(rows, join, number + 1)
        }
        if let condition = select.condition {
            var kept: [Joined] = []
            for row in rows {
                evaluator.rows = row
                if try evaluator.truth(condition) == .yes { kept.append(row) }
            }
            rows = kept
        }
        return try result(of: rows)
    }

    // MARK: Sources

    private func source() throws(StoreError) -> [Joined] {
        let documents = documents(select.source.name.text)
        let empty = Joined(repeating: nil, count: select.joins.count)
        var ids: [Value]?
        switch select.source.ids {
        case nil: break
        case .list(let expressions)?:
            var values: [Value] = []
            for expression in expressions {
                if let value = try evaluator.value(expression) { values.append(value) }
            }
            ids = values
        case .expression(let expression)?:
            guard case .array(let values)? = try evaluator.value(expression) else {
                throw StoreError(.argument, "not a list of ids")
            }
            ids = values
        }
        guard let ids else { return documents.values.map { [$0] + empty } }
        return documents.filter { ids.contains($0.key) }.map { [$0.value] + empty }
    }

    private mutating func joined(
        _ rows: [Joined], _ join: SheafQuery.JoinClause, _ number: Int
    ) throws(StoreError) -> [Joined] {
        var found: [Joined] = []
        var matched: Set<Value> = []
        let documents = documents(join.source.name.text)
        for row in rows {
            var hasPartner = false
            for (id, document) in documents {
                var both = row
                both[number] = document
                evaluator.rows = both
                guard try evaluator.truth(join.condition) == .yes else { continue }
                hasPartner = true
                matched.insert(id)
                found.append(both)
            }
            if !hasPartner, join.kind == .left { found.append(row) }
        }
        guard join.kind == .right else { return found }
        for (id, document) in documents where !matched.contains(id) {
            var alone = Joined(repeating: nil, count: select.joins.count + 1)
            alone[number] = document
            found.append(alone)
        }
        return found
    }

    // MARK: Groups, order and columns

    /// Whether the statement groups; nested aggregates occur only with GROUP BY or HAVING.
    private var isGrouped: Bool {
        var expressions = order.map(\.expression)
        for case .expression(let expression, _) in select.columns { expressions.append(expression) }
        return !select.groups.isEmpty || select.having != nil
            || expressions.contains {
                guard case .call(let call) = $0.node else { return false }
                return AggregateKind(rawValue: call.name) != nil
            }
    }

    /// Whether a column depends on the order of float additions.
    private var computesFloats: Bool {
        select.columns.contains {
            guard case .expression(let expression, _) = $0, case .call(let call) = expression.node
            else { return false }
            return ["sum", "avg", "median", "mid"].contains(call.name)
        }
    }

    private mutating func result(of rows: [Joined]) throws(StoreError) -> NaiveRows {
        var result = NaiveRows()
        result.limit = try count(select.ordering.limit)
        result.offset = try count(select.ordering.offset) ?? 0
        result.isLoose = computesFloats
        if isGrouped {
            for group in try groups(of: rows) {
                evaluator.group = group
                if let having = select.having, try evaluator.truth(having) != .yes { continue }
                try add(id: nil, to: &result)
            }
        } else {
            for row in rows {
                evaluator.rows = row
                try add(id: row[0]?["_id"], to: &result)
            }
        }
        if select.isDistinct {
            // With LIMIT and no effective order, any form of equal rows is valid.
            let isAnyOrder = Set(result.rows.map(\.keys)).count <= 1
            if result.limit != nil, isAnyOrder { result.isLoose = true }
            // Equal rows collapse into one preferred form, at the position of the first.
            var indexes: [Object: Int] = [:]
            var distinct: [NaiveRows.Row] = []
            sort(&result)
            for row in result.rows {
                guard let index = indexes[row.object] else {
                    indexes[row.object] = distinct.count
                    distinct.append(row)
                    continue
                }
                if NaiveForm.precedes(.object(row.object), .object(distinct[index].object)) {
                    distinct[index].object = row.object
                }
            }
            result.rows = distinct
        }
        sort(&result)
        return result
    }

    private mutating func groups(of rows: [Joined]) throws(StoreError) -> [NaiveEvaluator.Group] {
        var numbers: [[Value?]: Int] = [:]
        var groups: [NaiveEvaluator.Group] = []
        if select.groups.isEmpty { return [NaiveEvaluator.Group(keys: [], rows: rows)] }
        for row in rows {
            evaluator.rows = row
            var values: [Value?] = []
            for expression in select.groups { values.append(try evaluator.value(expression)) }
            let number = numbers[values] ?? groups.count
            if number == groups.count {
                numbers[values] = number
                groups.append(
                    NaiveEvaluator.Group(keys: Array(zip(select.groups, values)), rows: []))
            }
            groups[number].rows.append(row)
            for index in values.indices
            where NaiveForm.precedes(values[index], groups[number].keys[index].value) {
                groups[number].keys[index].value = values[index]
            }
        }
        return groups
    }

    private func add(id: Value?, to result: inout NaiveRows) throws(StoreError) {
        var keys: [Value?] = []
        for term in order {
            keys.append(
                term.isColumn
                    ? try columnValue(term.expression) : try evaluator.value(term.expression))
        }
        result.rows.append(NaiveRows.Row(object: try object(), keys: keys, id: id))
    }

    private func object() throws(StoreError) -> Object {
        var object = Object()
        var hasAll = false
        for (number, column) in select.columns.enumerated() {
            switch column {
            case .all(nil, _):
                if evaluator.rows.count == 1 { return evaluator.rows[0] ?? Object() }
                for (member, row) in zip(evaluator.members, evaluator.rows) {
                    object[member.name] = row.map(Value.object)
                }
            case .all(let qualifier?, _):
                let index = evaluator.members.firstIndex { $0.name == qualifier.text } ?? 0
                hasAll = true
                for field in evaluator.rows[index] ?? Object() { object[field.name] = field.value }
            case .expression(let expression, let alias):
                let name = Self.name(of: expression, alias, number: number + 1)
                // MISSING removes a field that `*` added, and has no other effect.
                if let value = try columnValue(expression) {
                    object[name] = value
                } else if hasAll {
                    object[name] = nil
                }
            }
        }
        return object
    }

    private func count(_ expression: Expression?) throws(StoreError) -> Int? {
        guard let expression else { return nil }
        guard case .integer(let count)? = try evaluator.value(expression), count >= 0 else {
            throw StoreError(.argument, "not a number of rows")
        }
        return Int(clamping: count)
    }

    private func sort(_ result: inout NaiveRows) {
        let terms = select.ordering.terms
        func order(_ left: NaiveRows.Row, _ right: NaiveRows.Row) -> Int {
            for (index, term) in terms.enumerated() {
                let order: Int =
                    switch (left.keys[index], right.keys[index]) {
                    case (let left?, let right?): left.compare(right)
                    case (nil, nil): 0
                    case (nil, _): 1
                    case (_, nil): -1
                    }
                if order != 0 { return term.isDescending ? -order : order }
            }
            return 0
        }
        if !terms.isEmpty { result.rows.sort { order($0, $1) < 0 } }
        result.runs = []
        var start = 0
        for index in result.rows.indices
        where index + 1 == result.rows.count
            || order(result.rows[index], result.rows[index + 1]) != 0
        {
            result.runs.append(start..<index + 1)
            start = index + 1
        }
    }
}
