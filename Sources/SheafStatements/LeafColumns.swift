import SheafBytes
import SheafDocument
import SheafQuery
import SheafStorage

/// The columns of the documents on one leaf of the tree.
final class LeafColumns: Sendable {
    /// A field of the documents.
    private enum Column: Sendable {
        /// No scan has used the field since the leaf changed.
        case unread
        /// A value must be decoded with its document.
        case needsDocuments
        case elements(ElementColumn)
    }

    let id: BTreeLeafID
    /// The number of documents, which are the rows of the columns.
    let rowCount: Int
    /// The entries of the rows; empty if each entry of the leaf is a row.
    private let entries: [UInt16]
    private let columns: [Column]
    let byteCount: Int

    /// Memory of an object, an array, and their headers in an allocator.
    private static let overhead = 160
    private static let columnOverhead = 96

    /// Creates the columns of `leaf`; `known` has those that have been read.
    ///
    /// `wanted` has the number and path of each column to read. A leaf with a damaged document has
    /// no columns.
    init(
        _ leaf: LogLeaf, _ known: LeafColumns?, _ wanted: [(number: Int, path: FieldPath)],
        _ reader: SnapshotReader
    ) throws(StoreError) {
        id = leaf.id
        let missing = wanted.filter { known?.isRead($0.number) != true }
        var columns = known?.columns ?? []
        let count = (wanted.map(\.number).max() ?? -1) + 1
        while columns.count < count { columns.append(.unread) }
        if let found = try ReadColumns(leaf, missing.map(\.path), reader) {
            for (index, column) in missing.enumerated() {
                columns[column.number] =
                    found.columns[index].map { .elements($0) } ?? .needsDocuments
            }
            (rowCount, entries) = (found.rowCount, found.entries)
        } else {
            columns = columns.map { _ in .needsDocuments }
            (rowCount, entries) = (0, [])
        }
        self.columns = columns
        byteCount = columns.reduce(Self.overhead + 2 * entries.count) { bytes, column in
            guard case .elements(let elements) = column else { return bytes }
            return bytes + elements.byteCount + Self.columnOverhead
        }
    }

    /// Returns the entry of a row on the leaf.
    @inline(__always)
    func entry(of row: Int) -> Int { entries.isEmpty ? row : Int(entries[row]) }

    /// Whether a column need not be read.
    func isRead(_ number: Int) -> Bool {
        guard number < columns.count else { return false }
        if case .unread = columns[number] { return false }
        return true
    }

    /// Whether no column needs documents.
    func hasElements(_ numbers: [Int]) -> Bool {
        numbers.allSatisfy { number in
            guard number < columns.count, case .elements = columns[number] else { return false }
            return true
        }
    }

    /// Replaces `elements` by those of the columns; returns false if one needs documents.
    func fill(_ elements: inout [UnsafePointer<FieldElement>], _ numbers: [Int]) -> Bool {
        elements.removeAll(keepingCapacity: true)
        for number in numbers {
            guard number < columns.count, case .elements(let column) = columns[number] else {
                return false
            }
            elements.append(column.elements)
        }
        return true
    }
}

/// The columns read from the documents on a leaf.
private struct ReadColumns {
    private(set) var rowCount = 0
    private(set) var entries: [UInt16] = []
    /// The column of each field; nil if it needs documents.
    private(set) var columns: [ElementColumn?] = []

    /// Reads fields; returns nil if a document is damaged.
    init?(_ leaf: LogLeaf, _ paths: [FieldPath], _ reader: SnapshotReader) throws(StoreError) {
        let pointers = leaf.pointers
        guard pointers.count == leaf.count else { return nil }
        var builders = paths.map(ElementColumnBuilder.init)
        var rows: [UInt16] = []
        rows.reserveCapacity(pointers.count)
        do throws(StoreError) {
            try pointers.span.withUnsafeBufferPointer { (pointers) throws(StoreError) in
                try reader.visit(pointers) { (entry, document) throws(StoreError) in
                    rows.append(UInt16(truncatingIfNeeded: entry))
                    try document.append(to: &builders)
                    return true
                }
            }
        } catch {
            // The scan of the documents finds the damaged one, unless the statement has to end.
            try reader.interruption?.check()
            return nil
        }
        rowCount = rows.count
        if rows.count < pointers.count { entries = rows }
        for index in builders.indices { columns.append(builders[index].finish()) }
    }
}

extension ScannedDocument {
    fileprivate func append(to builders: inout [ElementColumnBuilder]) throws(StoreError) {
        do throws(Malformed) {
            for index in builders.indices { try builders[index].append(fields) }
        } catch {
            throw StoreError(error, document: position)
        }
    }
}
