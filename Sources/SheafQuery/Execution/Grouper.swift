import SheafDocument

/// Gathers rows into groups, and the aggregates of each.
struct Grouper {
    private struct Key: Hashable {
        let values: [Value?]
    }

    private let plan: GroupPlan
    private var numbers: [Key: Int] = [:]
    /// The group of a single key that came last: rows often come in runs.
    private var keys: [[Value?]] = []
    private var aggregates: [[Aggregate]] = []

    init(_ plan: GroupPlan) {
        self.plan = plan
        // Without GROUP BY there is one group, be it empty.
        if plan.keys.isEmpty { _ = group([]) }
    }

    var count: Int { keys.count }

    /// Takes in the row that a frame shows.
    mutating func add(_ frame: Frame) throws(QueryError) {
        var number = 0
        if !plan.keys.isEmpty {
            var values: [Value?] = []
            values.reserveCapacity(plan.keys.count)
            for key in plan.keys { values.append(try key(frame)) }
            number = group(values)
        }
        for (index, column) in plan.columns.enumerated() {
            guard let operand = column.operand else {
                aggregates[number][index].addRow()
                continue
            }
            aggregates[number][index].add(try operand(frame))
        }
    }

    /// Notes so many rows that nobody has looked at; for a single group of counts alone.
    mutating func addRows(_ count: Int) {
        for index in plan.columns.indices { aggregates[0][index].addRows(count) }
    }

    private mutating func group(_ values: [Value?]) -> Int {
        let key = Key(values: values)
        if let number = numbers[key] {
            for index in values.indices where ValueForm.precedes(values[index], keys[number][index])
            {
                keys[number][index] = values[index]
            }
            return number
        }
        let number = keys.count
        numbers[key] = number
        keys.append(values)
        aggregates.append(plan.columns.map { Aggregate($0.kind, isDistinct: $0.isDistinct) })
        return number
    }

    /// Visits the groups, each shown by the frame, until `body` returns false.
    func forEach(
        _ frame: Frame, _ body: () throws(QueryError) -> Bool
    ) throws(QueryError) {
        for number in keys.indices {
            frame.groups = keys[number]
            frame.aggregates = aggregates[number].map { $0.result() }
            if let having = plan.having, try having(frame) != .yes { continue }
            guard try body() else { return }
        }
    }
}
