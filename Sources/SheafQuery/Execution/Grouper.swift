import SheafBytes
import SheafDocument

/// The groups of a SELECT with their aggregates.
///
/// Rows find their group by the encoded values of the keys.
final class Grouper {
    private let plan: GroupPlan
    private let table: GroupTable
    private let columns: [AggregateColumn]
    /// The keys of all groups, in canonical form.
    @exclusivity(unchecked) private var keys: [Value?] = []
    @exclusivity(unchecked) private var writer = GroupKeyWriter()
    /// The keys of the current row.
    @exclusivity(unchecked) private var values: [Value?] = []
    /// Number of groups.
    @exclusivity(unchecked) private(set) var count = 0
    /// The elements of the keys in a batch; nil if a key is not a field.
    private let keyColumns: [FieldColumn]?
    /// The groups of texts in columns, which outlive the run.
    private lazy var recentTexts = RecentTexts()
    /// The groups of the documents of a batch.
    private let groups: UnsafeMutablePointer<Int32>

    init(_ plan: GroupPlan) {
        self.plan = plan
        table = GroupTable()
        columns = plan.columns.map(AggregateColumn.init)
        groups = .allocate(capacity: DocumentBatch.capacity)
        let paths = plan.keyPaths.compactMap { $0 }
        keyColumns =
            paths.count == plan.keys.count && columns.allSatisfy(\.takesBatches)
            ? paths.map { FieldColumn($0, capacity: DocumentBatch.capacity) } : nil
        // Without GROUP BY, there is one group even without rows.
        if plan.keys.isEmpty { addGroup([]) }
    }

    deinit {
        groups.deallocate()
    }

    /// Adds the current row `rowCount` times; more than once only if all aggregates are COUNT(*).
    func add(_ frame: RowContext, _ rowCount: Int = 1) throws(StoreError) {
        let group = try group(of: frame)
        guard rowCount == 1 else {
            for column in columns { column.addRows(rowCount, to: group) }
            return
        }
        for column in columns { try column.add(frame, to: group) }
    }

    /// Counts rows that were not visited; only for a single group with COUNT(*) columns.
    func addRows(_ count: Int) {
        for column in columns { column.addRows(count, to: 0) }
    }

    /// Adds groups of rows that were not visited; only for COUNT(*) columns.
    func add(_ groups: [(keys: [Value?], size: Int)]) {
        for group in groups {
            addGroup(group.keys)
            for column in columns { column.addRows(group.size, to: count - 1) }
        }
    }

    private func group(of frame: RowContext) throws(StoreError) -> Int {
        guard plan.keys.count > 1 else {
            guard let key = plan.keys.first else { return 0 }
            let value = try key(frame)
            let number = table.find(value)
            guard number < count else { return group(number, [value]) }
            keep(value, at: number)
            return number
        }
        values.removeAll(keepingCapacity: true)
        writer.removeAll()
        for key in plan.keys {
            let value = try key(frame)
            writer.append(value)
            values.append(value)
        }
        return group(table.find(writer), values)
    }

    /// Adds the group of a number that the table has assigned, or keeps the canonical values.
    private func group(_ number: Int, _ values: [Value?]) -> Int {
        guard number < count else {
            addGroup(values)
            return number
        }
        for (index, value) in values.enumerated() { keep(value, at: number * values.count + index) }
        return number
    }

    /// Keeps the canonical form of equal keys such as 1 and 1.0, independent of the row order.
    private func keep(_ value: Value?, at index: Int) {
        if ValueForm.precedes(value, keys[index]) { keys[index] = value }
    }

    private func addGroup(_ values: [Value?]) {
        keys += values
        count += 1
        for column in columns { column.addGroup() }
    }

    /// Sets each group in the row context; calls `body` if HAVING is true, until it returns false.
    func forEach(
        _ frame: RowContext, _ body: () throws(StoreError) -> Bool
    ) throws(StoreError) {
        let width = plan.keys.count
        for number in 0..<count {
            frame.groups = Array(keys[number * width..<(number + 1) * width])
            frame.aggregates = columns.map { $0.result(of: number) }
            if let having = plan.having, try having(frame) != .yes { continue }
            guard try body() else { return }
        }
    }
}

// MARK: Batches

extension Grouper {
    /// Adds the documents of a batch; returns false if they must be added one by one.
    func add(_ documents: ScannedDocuments, _ names: NameTable) throws(StoreError) -> Bool {
        guard let keyColumns else { return false }
        do throws(Malformed) {
            for column in keyColumns { try documents.read(column) }
            for column in columns {
                if let elements = column.elements { try documents.read(elements) }
            }
        } catch {
            // Reading the documents one by one finds the damaged one.
            return false
        }
        try assignGroups(keyColumns, documents.count) { (number, column) throws(StoreError) in
            try documents.value(number, column, names)
        }
        let found = UnsafeBufferPointer(start: groups, count: documents.count)
        for column in columns {
            try column.add(found) { (number) throws(StoreError) in
                guard let elements = column.elements else { return nil }
                return try documents.value(number, elements, names)
            }
        }
        return true
    }

    /// The columns of keys and operands; nil if the rows need documents.
    var sourceColumns: [FieldColumn]? { keyColumns.map { $0 + columns.compactMap(\.elements) } }

    /// Adds rows whose keys and operands are in columns.
    ///
    /// `numbers` has the number in the batch of each of `sourceColumns`.
    func add(_ batch: ColumnBatch, _ numbers: [Int]) throws(StoreError) {
        guard let keyColumns, let sourceColumns, !batch.rows.isEmpty else { return }
        for (column, number) in zip(sourceColumns, numbers) {
            column.copy(batch.columns[number], at: batch.rows)
        }
        let recent = batch.isLasting && keyColumns.count == 1 ? recentTexts : nil
        try assignGroups(
            keyColumns, batch.rows.count, recent: recent
        ) { (number, column) throws(StoreError) in
            try Self.value(column.elements[number])
        }
        let found = UnsafeBufferPointer(start: groups, count: batch.rows.count)
        for column in columns {
            try column.add(found) { (number) throws(StoreError) in
                try column.elements.flatMap { (elements) throws(StoreError) in
                    try Self.value(elements.elements[number])
                }
            }
        }
    }

    /// Returns the value of an element of a column in memory, which has only valid ones.
    private static func value(_ element: FieldElement) throws(StoreError) -> Value? {
        do throws(Malformed) { return try element.value() } catch {
            throw StoreError(error, document: 0)
        }
    }

    /// Assigns groups to the first `count` rows of the key columns.
    ///
    /// `value` decodes the element of a row in a column.
    private func assignGroups(
        _ keyColumns: [FieldColumn], _ count: Int, recent: RecentTexts? = nil,
        _ value: (Int, FieldColumn) throws(StoreError) -> Value?
    ) throws(StoreError) {
        guard let first = keyColumns.first else {
            groups.initialize(repeating: 0, count: count)
            return
        }
        guard keyColumns.count == 1 else {
            for number in 0..<count {
                groups[number] = Int32(try group(of: number, keyColumns, value))
            }
            return
        }
        for number in 0..<count {
            let element = first.elements[number]
            guard element.kind != .other else {
                let value = try value(number, first)
                groups[number] = Int32(group(table.find(value), [value]))
                continue
            }
            if let group = recent?.group(of: element) {
                groups[number] = group
                continue
            }
            let group = table.find(element)
            groups[number] = Int32(truncatingIfNeeded: group)
            recent?.add(element, groups[number])
            if group == self.count {
                addGroup([try value(number, first)])
            } else {
                keep(element, at: group)
            }
        }
    }

    private func group(
        of number: Int, _ keyColumns: [FieldColumn],
        _ value: (Int, FieldColumn) throws(StoreError) -> Value?
    ) throws(StoreError) -> Int {
        writer.removeAll()
        for column in keyColumns {
            let element = column.elements[number]
            if element.kind == .other {
                writer.append(try value(number, column))
            } else {
                writer.append(element)
            }
        }
        let group = table.find(writer)
        let width = keyColumns.count
        guard group < count else {
            var values: [Value?] = []
            for column in keyColumns { values.append(try value(number, column)) }
            addGroup(values)
            return group
        }
        for (index, column) in keyColumns.enumerated() {
            let element = column.elements[number]
            if element.kind == .other {
                keep(try value(number, column), at: group * width + index)
            } else {
                keep(element, at: group * width + index)
            }
        }
        return group
    }

    /// Keeps the canonical form of equal keys; texts have one form only.
    @inline(__always)
    private func keep(_ element: FieldElement, at index: Int) {
        switch element.kind {
        case .integer: keep(.integer(element.integer), at: index)
        case .float: keep(.float(element.float), at: index)
        default: break
        }
    }
}

extension ScannedDocuments {
    /// Reads the elements of a field of all documents.
    fileprivate func read(_ column: FieldColumn) throws(Malformed) {
        try column.read(documents, at: selection, id: id)
    }

    /// Returns the value of an element of a column; nil if it is missing.
    fileprivate func value(
        _ number: Int, _ column: FieldColumn, _ names: NameTable
    ) throws(StoreError) -> Value? {
        let element = column.elements[number]
        return try onDocument(at: position(number)) { () throws(Malformed) in
            guard element.kind == .other else { return try element.value() }
            return try column.path.value(in: fields(number), id: id(number), names)
        }
    }
}
