import SheafDocument

/// One aggregate of all groups.
///
/// Numbers of encoded documents are added without creating values.
final class AggregateColumn {
    private enum Method {
        case count
        case sum(isMean: Bool)
        /// Each group has an `Aggregate`.
        case separate
    }

    private let column: GroupScope.Column
    private let method: Method
    /// The elements of the operand in a batch; nil if the operand is not a field.
    let elements: FieldColumn?
    // Only one run accesses these properties, on one thread. One of them has the groups.
    @exclusivity(unchecked) private var counts: [Int64] = []
    @exclusivity(unchecked) private var sums: [NumberSum] = []
    @exclusivity(unchecked) private var aggregates: [Aggregate] = []

    init(_ column: GroupScope.Column) {
        self.column = column
        elements = column.path.map { FieldColumn($0, capacity: DocumentBatch.capacity) }
        method =
            switch column.kind {
            case .count where !column.isDistinct || column.operand == nil: .count
            case .sum where !column.isDistinct: .sum(isMean: false)
            case .avg where !column.isDistinct: .sum(isMean: true)
            default: .separate
            }
    }

    /// Whether the operand can be read in batches.
    var takesBatches: Bool { column.operand == nil || elements != nil && !column.isDistinct }

    /// Adds a group without rows.
    func addGroup() {
        switch method {
        case .count: counts.append(0)
        case .sum: sums.append(NumberSum())
        case .separate: aggregates.append(Aggregate(column.kind, isDistinct: column.isDistinct))
        }
    }

    /// Adds the current row of a row context to a group.
    func add(_ frame: RowContext, to group: Int) throws(StoreError) {
        guard let operand = column.operand else { return addRows(1, to: group) }
        add(try operand(frame), to: group)
    }

    /// Counts rows without their values.
    func addRows(_ count: Int, to group: Int) {
        counts[group] += Int64(count)
    }

    /// Adds the value of a row to a group.
    func add(_ value: Value?, to group: Int) {
        switch method {
        case .count:
            if let value, value.kind != .null, value != .bool(false) { counts[group] += 1 }
        case .sum: if let value { sums[group].add(value) }
        case .separate: aggregates[group].add(value)
        }
    }

    /// Adds the rows of a batch to their groups; `value` decodes the operand of a row.
    func add(
        _ groups: UnsafeBufferPointer<Int32>, _ value: (Int) throws(StoreError) -> Value?
    ) throws(StoreError) {
        guard let elements = elements?.elements else {
            for group in groups { counts[Int(group)] += 1 }
            return
        }
        switch method {
        case .count:
            for number in groups.indices where Self.isCounted(elements[number]) {
                counts[Int(groups[number])] += 1
            }
        case .sum:
            for number in groups.indices {
                let element = elements[number]
                switch element.kind {
                case .integer: sums[Int(groups[number])].add(element.integer)
                case .float: sums[Int(groups[number])].add(element.float)
                case .other: add(try value(number), to: Int(groups[number]))
                default: break
                }
            }
        case .separate:
            for number in groups.indices {
                let element = elements[number]
                switch element.kind {
                case .integer:
                    aggregates[Int(groups[number])].add(.integer(element.integer))
                case .float: aggregates[Int(groups[number])].add(.float(element.float))
                case .missing, .null: break
                default: aggregates[Int(groups[number])].add(try value(number))
                }
            }
        }
    }

    private static func isCounted(_ element: FieldElement) -> Bool {
        switch element.kind {
        case .missing, .null, .no: false
        default: true
        }
    }

    /// Returns the aggregate of a group.
    func result(of group: Int) -> Value? {
        switch method {
        case .count: .integer(counts[group])
        case .sum(let isMean): isMean ? sums[group].mean : sums[group].total
        case .separate: aggregates[group].result()
        }
    }
}
