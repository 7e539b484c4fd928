import SheafBytes
import SheafDocument
import SheafEngine
import SheafQuery
import SheafStorage

/// The columns of one collection in one state of the tree.
struct ColumnTable: Sendable {
    /// The state of the tree; nil before the first one.
    private var state: BTreeStateID?
    // The leaves are used for this state only, whose pages are those of the scanned snapshot.
    private var leaves: [LogLeaf] = []
    private var columns: [LeafColumns] = []
    /// The names of the field of each column.
    private var fields: [[UInt32]] = []
    private(set) var byteCount = 0
    /// The number of the last use among those of all tables.
    var lastUse: UInt64 = 0

    /// The reason why a table was not brought up to date.
    enum Refusal: Error {
        case statement(StoreError)
        /// More than a quarter of the documents are on changed leaves.
        case changed
        /// The columns would exceed the memory, or most leaves need documents.
        case unsuitable
    }

    /// Divisor of the maximum share of documents on changed leaves.
    private static let changedDivisor = 4

    /// Whether the table has columns of all fields.
    func has(_ wanted: [[UInt32]]) -> Bool { wanted.allSatisfy(fields.contains) }

    /// Whether the table is of a later state than a snapshot.
    func isLater(than log: LogSnapshot) -> Bool {
        state.map { $0.isLater(than: log.tree.stateID) } ?? false
    }

    /// Returns the columns of fields; nil if the table has not read them in this state.
    func view(_ wanted: [[UInt32]], _ log: LogSnapshot) -> ColumnView? {
        guard state == log.tree.stateID else { return nil }
        var numbers: [Int] = []
        for field in wanted {
            guard let number = fields.firstIndex(of: field) else { return nil }
            numbers.append(number)
        }
        guard columns.allSatisfy({ column in numbers.allSatisfy(column.isRead) }) else {
            return nil
        }
        return ColumnView(leaves: leaves, columns: columns, numbers: numbers)
    }

    /// Reads the fields of a scan in the state of a reader, except those on unchanged leaves.
    ///
    /// If `isEager`, any number of leaves may have changed.
    mutating func update(
        _ scan: ColumnScan, _ wanted: [[UInt32]], _ reader: SnapshotReader, isEager: Bool,
        maximumBytes: Int
    ) throws(Refusal) {
        for field in wanted where !fields.contains(field) { fields.append(field) }
        let numbered = zip(wanted, scan.paths).compactMap { field, path in
            fields.firstIndex(of: field).map { (number: $0, path: path) }
        }
        let log = reader.snapshot.log
        var found: [LogLeaf] = []
        log.forEachLeaf(in: scan.keys) { found.append($0) }
        let known = match(found)
        let (all, changed) = zip(found, known).reduce((0, 0)) { counts, leaf in
            (counts.0 + leaf.0.count, counts.1 + (leaf.1 == nil ? leaf.0.count : 0))
        }
        if state != nil, !isEager, changed * Self.changedDivisor > all { throw .changed }
        (state, leaves, byteCount) = (log.tree.stateID, found, 0)
        var updated: [LeafColumns] = []
        updated.reserveCapacity(found.count)
        var unsuitable = 0
        for (index, leaf) in found.enumerated() {
            let next: LeafColumns
            if let known = known[index], numbered.allSatisfy({ known.isRead($0.number) }) {
                next = known
            } else {
                do throws(StoreError) {
                    next = try LeafColumns(leaf, known[index], numbered, reader)
                } catch {
                    throw .statement(error)
                }
            }
            byteCount += next.byteCount + MemoryLayout<LogLeaf>.stride
            updated.append(next)
            if !next.hasElements(numbered.map(\.number)) { unsuitable += 1 }
            guard byteCount <= maximumBytes else { throw .unsuitable }
        }
        guard 2 * unsuitable <= found.count else { throw .unsuitable }
        columns = updated
    }

    /// Returns the columns of each leaf; nil for those that have changed.
    private func match(_ found: [LogLeaf]) -> [LeafColumns?] {
        var next = 0
        // Leaves keep their order, so most of them follow the last match.
        var numbers: [BTreeLeafID: Int] = [:]
        return found.map { leaf in
            if next < columns.count, columns[next].id == leaf.id {
                next += 1
                return columns[next - 1]
            }
            if numbers.isEmpty {
                for (number, column) in columns.enumerated() { numbers[column.id] = number }
            }
            guard let number = numbers[leaf.id] else { return nil }
            next = number + 1
            return columns[number]
        }
    }
}

/// The columns that a scan reads, with the leaves whose documents they contain.
struct ColumnView {
    let leaves: [LogLeaf]
    let columns: [LeafColumns]
    /// The numbers of the columns, in the order of the paths of the scan.
    let numbers: [Int]
}
