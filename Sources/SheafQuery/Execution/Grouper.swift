import SheafDocument

/// The groups of a SELECT with their aggregates.
struct Grouper {
    private enum Key: Hashable {
        case one(Value?)
        case several([Value?])
    }

    private let plan: GroupPlan
    private var numbers: [Key: Int] = [:]
    private var keys: [[Value?]] = []
    private var aggregates: [[Aggregate]] = []

    init(_ plan: GroupPlan) {
        self.plan = plan
        // Without GROUP BY, there is one group even without rows.
        if plan.keys.isEmpty { _ = group(.several([])) }
    }

    var count: Int { keys.count }

    /// Adds the current row of a row context.
    mutating func add(_ frame: RowContext) throws(StoreError) {
        var number = 0
        if plan.keys.count == 1 {
            number = group(.one(try plan.keys[0](frame)))
        } else if !plan.keys.isEmpty {
            var values: [Value?] = []
            values.reserveCapacity(plan.keys.count)
            for key in plan.keys { values.append(try key(frame)) }
            number = group(.several(values))
        }
        for (index, column) in plan.columns.enumerated() {
            guard let operand = column.operand else {
                aggregates[number][index].addRow()
                continue
            }
            aggregates[number][index].add(try operand(frame))
        }
    }

    /// Counts rows that were not visited; only for a single group with COUNT(*) columns.
    mutating func addRows(_ count: Int) {
        for index in plan.columns.indices { aggregates[0][index].addRows(count) }
    }

    /// Keeps the canonical form of equal keys such as 1 and 1.0, independent of the row order.
    private mutating func keepCanonicalForms(_ key: Key, _ number: Int) {
        switch key {
        case .one(let value):
            if ValueForm.precedes(value, keys[number][0]) { keys[number][0] = value }
        case .several(let values):
            for index in values.indices where ValueForm.precedes(values[index], keys[number][index])
            {
                keys[number][index] = values[index]
            }
        }
    }

    private mutating func group(_ key: Key) -> Int {
        if let number = numbers[key] {
            keepCanonicalForms(key, number)
            return number
        }
        let number = keys.count
        numbers[key] = number
        switch key {
        case .one(let value): keys.append([value])
        case .several(let values): keys.append(values)
        }
        aggregates.append(plan.columns.map { Aggregate($0.kind, isDistinct: $0.isDistinct) })
        return number
    }

    /// Sets each group in the row context; calls `body` if HAVING is true, until it returns false.
    func forEach(
        _ frame: RowContext, _ body: () throws(StoreError) -> Bool
    ) throws(StoreError) {
        for number in keys.indices {
            frame.groups = keys[number]
            frame.aggregates = aggregates[number].map { $0.result() }
            if let having = plan.having, try having(frame) != .yes { continue }
            guard try body() else { return }
        }
    }
}
