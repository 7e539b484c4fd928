package import SheafDocument
import SheafEngine
package import SheafQuery
import SheafStorage

/// Scans of columns in memory.
extension SnapshotReader {
    package var usesColumns: Bool { columns != nil && !hasPending }

    package func hasColumns(for scan: ColumnScan) -> Bool {
        columns?.has(scan.paths, of: scan.keys) ?? false
    }

    package func scan(
        _ scan: ColumnScan, _ tally: inout ScanTally, _ body: Visitor
    ) throws(StoreError) -> Bool {
        // A meter charges for documents, which must not depend on the scans of others.
        guard interruption?.isMetered != true else { return false }
        guard let columns, !hasPending, let view = try columns.updatedView(of: scan, self)
        else {
            return false
        }
        let buffers = buffers.popLast() ?? ScanBuffers()
        defer { self.buffers.append(buffers) }
        let run = ColumnRun(scan, view, self, buffers)
        guard run.isWorthwhile else { return false }
        try run.visit(&tally, body)
        return true
    }
}

/// A run of a scan over the columns of a view.
private struct ColumnRun {
    private let scan: ColumnScan
    private let view: ColumnView
    private let reader: SnapshotReader
    private let buffers: ScanBuffers

    init(_ scan: ColumnScan, _ view: ColumnView, _ reader: SnapshotReader, _ buffers: ScanBuffers) {
        self.scan = scan
        self.view = view
        self.reader = reader
        self.buffers = buffers
    }

    /// Whether at most half of the documents match, according to a sample of the leaves.
    ///
    /// More of them are read faster in the order of the log, by several threads.
    var isWorthwhile: Bool {
        guard scan.consumeColumns == nil, !scan.isBounded, let filter = scan.elementFilter else {
            return true
        }
        let step = max(view.leaves.count / Self.sampledLeaves, 1)
        var (visited, found) = (0, 0)
        var elements: [UnsafePointer<FieldElement>] = []
        for number in stride(from: 0, to: view.leaves.count, by: step) {
            guard view.columns[number].fill(&elements, view.numbers) else { continue }
            let count = min(view.columns[number].rowCount, DocumentBatch.capacity)
            for row in 0..<count { buffers.rows[row] = UInt16(truncatingIfNeeded: row) }
            visited += count
            found += elements.span.withUnsafeBufferPointer { elements in
                elements.baseAddress.map { filter.select(buffers.rows, count, of: $0) } ?? 0
            }
        }
        return 2 * found <= visited
    }

    private static let sampledLeaves = 16

    /// Visits all leaves until `body` needs no more documents.
    func visit(_ tally: inout ScanTally, _ body: SnapshotReader.Visitor) throws(StoreError) {
        // Matching documents that are not read yet.
        var found: [RecordPointer] = []
        found.reserveCapacity(DocumentBatch.capacity)
        var elements: [UnsafePointer<FieldElement>] = []
        for (number, leaf) in view.leaves.enumerated() {
            if number & 3 == 0 { try reader.interruption?.check() }
            let columns = view.columns[number]
            guard columns.fill(&elements, view.numbers) else {
                guard try read(&found, &tally, body),
                    try readAll(leaf, &tally, body)
                else { return }
                continue
            }
            tally.entries += leaf.count
            guard try visit(leaf, columns, &elements, &found, &tally, body) else { return }
        }
        _ = try read(&found, &tally, body)
    }

    private func visit(
        _ leaf: LogLeaf, _ columns: LeafColumns, _ elements: inout [UnsafePointer<FieldElement>],
        _ found: inout [RecordPointer], _ tally: inout ScanTally, _ body: SnapshotReader.Visitor
    ) throws(StoreError) -> Bool {
        var start = 0
        while start < columns.rowCount {
            let count = min(columns.rowCount - start, DocumentBatch.capacity)
            let rows = try elements.span.withUnsafeBufferPointer {
                (elements) throws(StoreError) -> UnsafeBufferPointer<UInt16> in
                try consumeMatches(count, elements)
            }
            if scan.consumeColumns == nil {
                for row in rows {
                    guard let pointer = leaf[columns.entry(of: start + Int(row))] else { continue }
                    found.append(pointer)
                    guard found.count == DocumentBatch.capacity else { continue }
                    guard try read(&found, &tally, body) else { return false }
                }
            }
            start += count
            for index in elements.indices { elements[index] += count }
        }
        return true
    }

    /// Selects among the next `count` rows, and passes the matches to the consumer of columns.
    private func consumeMatches(
        _ count: Int, _ elements: UnsafeBufferPointer<UnsafePointer<FieldElement>>
    ) throws(StoreError) -> UnsafeBufferPointer<UInt16> {
        let rows = buffers.rows
        guard let columns = elements.baseAddress else {
            return UnsafeBufferPointer(start: nil, count: 0)
        }
        for row in 0..<count { rows[row] = UInt16(truncatingIfNeeded: row) }
        let kept = scan.elementFilter?.select(rows, count, of: columns) ?? count
        let found = UnsafeBufferPointer(start: rows, count: kept)
        if let consume = scan.consumeColumns, kept > 0 {
            try consume(ColumnBatch(columns, rows: found))
        }
        return found
    }

    /// Passes the documents that were found to `body`; returns false when no more are needed.
    private func read(
        _ found: inout [RecordPointer], _ tally: inout ScanTally, _ body: SnapshotReader.Visitor
    ) throws(StoreError) -> Bool {
        guard !found.isEmpty else { return true }
        defer { found.removeAll(keepingCapacity: true) }
        try reader.interruption?.check()
        // Their entries are counted with their leaf.
        let entries = tally.entries
        defer { tally.entries = entries }
        return try found.span.withUnsafeBufferPointer { (found) throws(StoreError) in
            try reader.visit(found, buffers, nil, &tally, body)
        }
    }

    /// Passes the matching documents of a leaf that has no columns to `body`.
    private func readAll(
        _ leaf: LogLeaf, _ tally: inout ScanTally, _ body: SnapshotReader.Visitor
    ) throws(StoreError) -> Bool {
        let pointers = leaf.pointers
        for start in stride(from: 0, to: pointers.count, by: DocumentBatch.capacity) {
            let end = min(start + DocumentBatch.capacity, pointers.count)
            try reader.interruption?.check()
            let goesOn = try pointers.span.withUnsafeBufferPointer {
                (pointers) throws(StoreError) in
                try reader.visit(
                    UnsafeBufferPointer(rebasing: pointers[start..<end]), buffers, scan.filter,
                    &tally, body)
            }
            guard goesOn else { return false }
        }
        return true
    }
}
