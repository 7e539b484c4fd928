import SheafBytes
package import SheafDocument

/// A row of an incremental view.
package struct ViewRow {
    package let item: ResultItem
    /// Values of the ORDER BY terms.
    let keys: [Value?]
    /// The encoded id of the document.
    let id: [UInt8]

    init(_ item: ResultItem, keys: [Value?], id: [UInt8]) {
        self.item = item
        self.keys = keys
        self.id = id
    }
}

/// The rows of an incremental view, updated document by document.
///
/// Rows with equal sort keys are ordered by id.
package struct IncrementalView {
    /// The effect of a changed document on the view.
    package enum Effect {
        case none
        case changed
        /// The effect cannot be derived from the document; the statement must run again.
        case unknown
    }

    package private(set) var rows: [ViewRow] = []
    /// Edits since the last `drainEdits()`; nil if there were too many.
    private var edits: [RowEdit]? = []
    /// Rows removed by the limit since the last `drainEdits()`; they may be inserted again.
    private var pushedOut: [ViewRow] = []

    /// Maximum number of matching documents; beyond it, there is no incremental view.
    package static let maximumCount = 1 << 14

    /// Creates the view by running its statement; nil if too many documents match.
    package init?(
        _ watched: IncrementalViewDefinition, _ environment: QueryRun
    ) throws(StoreError) {
        guard let plan = try environment.planOfDocuments() else { return nil }
        // One additional row detects that too many documents match.
        plan.limit = Self.maximumCount + 1
        let run = SelectRun(plan, environment.environment)
        var rows: [ViewRow] = []
        var isTooLong = false
        try run.forEach { (frame) throws(StoreError) in
            guard rows.count < Self.maximumCount else {
                isTooLong = true
                return
            }
            let row = frame.rows[0]
            guard let fields = row.fields, let id = row.id else { return }
            rows.append(
                try watched.row(
                    ScannedDocument(
                        fields, id: id, position: row.position, isLasting: row.isLasting)))
        }
        guard !isTooLong else { return nil }
        rows.sort { Self.compare($0, $1, watched.isDescending) < 0 }
        if let limit = watched.limit, rows.count > limit { rows.removeSubrange(limit...) }
        self.rows = rows
    }

    /// Applies the change of a document and records the edits of the rows.
    package mutating func apply(
        _ images: DocumentImages, _ definition: IncrementalViewDefinition
    ) throws(StoreError) -> Effect {
        let before = try images.before.flatMap { (document) throws(StoreError) in
            try definition.matches(document) ? document : nil
        }
        let after = try images.after.flatMap { (document) throws(StoreError) in
            try definition.matches(document) ? document : nil
        }
        var old: Int?
        if let before {
            let keys = try definition.keys(before)
            let found = position(of: keys, before.id, definition.isDescending)
            guard found.isThere || definition.limit != nil else { return .unknown }
            if found.isThere { old = found.index }
        }
        guard let after else {
            guard let old else { return .none }
            // A row beyond the limit may enter, but the view does not store it.
            if let limit = definition.limit, rows.count >= limit { return .unknown }
            record(.remove(at: old, id: rows.remove(at: old).id))
            return .changed
        }
        // The contents are identical, so the row keeps the bytes of the old version.
        if old != nil, definition.isPlain, images.areEqual { return .none }
        let row = try definition.row(after)
        if let old {
            let previous = rows[old]
            guard previous.isSorted(like: row) else {
                return move(row, from: old, definition)
            }
            rows[old] = row
            guard !previous.item.isComputed(like: row.item) else { return .none }
            record(.update(at: old))
            return .changed
        }
        let (index, _) = position(of: row.keys, after.id, definition.isDescending)
        if let limit = definition.limit, rows.count >= limit {
            guard index < limit else { return .none }
            let last = rows.removeLast()
            record(.remove(at: rows.count, id: last.id))
            if edits != nil { pushedOut.append(last) }
        }
        // The statement runs again, and finds that too many documents match.
        guard rows.count < Self.maximumCount else { return .unknown }
        rows.insert(row, at: index)
        let previous = pushedOut.last { $0.id == row.id }
        let isUpdated = previous.map { !$0.item.isComputed(like: row.item) } ?? true
        record(.insert(at: index, id: row.id, isUpdated: isUpdated))
        return .changed
    }

    /// Returns and clears the recorded edits; nil if there were too many.
    package mutating func drainEdits() -> [RowEdit]? {
        defer { (edits, pushedOut) = ([], []) }
        return edits
    }

    private mutating func record(_ edit: RowEdit) {
        guard let count = edits?.count else { return }
        guard count < RowEdit.maximumCount else {
            (edits, pushedOut) = (nil, [])
            return
        }
        edits?.append(edit)
    }

    /// Whether the rows have the same contents as the rows of another snapshot.
    package func hasSameContents(_ others: IncrementalView, _ names: NameTable) throws(StoreError)
        -> Bool
    {
        guard rows.count == others.rows.count else { return false }
        for (row, other) in zip(rows, others.rows) {
            guard try row.item.hasSameContents(other.item, names) else { return false }
        }
        return true
    }

    private mutating func move(
        _ row: ViewRow, from old: Int, _ definition: IncrementalViewDefinition
    ) -> Effect {
        let isFull = definition.limit.map { rows.count >= $0 } ?? false
        let previous = rows.remove(at: old)
        let index = position(of: row, definition.isDescending)
        // A row beyond the limit may precede this one.
        if isFull, index == rows.count { return .unknown }
        rows.insert(row, at: index)
        let isUpdated = !previous.item.isComputed(like: row.item)
        // A changed sort key need not change the position.
        guard isUpdated || index != old else { return .none }
        record(.move(from: old, to: index, isUpdated: isUpdated))
        return .changed
    }

    private func position(of row: ViewRow, _ isDescending: [Bool]) -> Int {
        row.id.span.withUnsafeBytes { position(of: row.keys, $0, isDescending).index }
    }

    /// Returns the index of a row, or the index at which it would be inserted.
    private func position(
        of keys: [Value?], _ id: UnsafeRawBufferPointer, _ isDescending: [Bool]
    ) -> (index: Int, isThere: Bool) {
        var low = 0
        var high = rows.count
        while low < high {
            let middle = (low + high) / 2
            let order = Self.compare(rows[middle], keys, id, isDescending)
            if order == 0 { return (middle, true) }
            if order < 0 { low = middle + 1 } else { high = middle }
        }
        return (low, false)
    }

    private static func compare(_ left: ViewRow, _ right: ViewRow, _ isDescending: [Bool]) -> Int {
        right.id.span.withUnsafeBytes { compare(left, right.keys, $0, isDescending) }
    }

    private static func compare(
        _ row: ViewRow, _ keys: [Value?], _ id: UnsafeRawBufferPointer, _ isDescending: [Bool]
    ) -> Int {
        for index in isDescending.indices {
            let order = Sorter<ViewRow>.compare(row.keys[index], keys[index])
            if order != 0 { return isDescending[index] ? -order : order }
        }
        return row.id.span.withUnsafeBytes { UTF8Order.compare($0, id) }
    }
}

extension ViewRow {
    /// Whether another row of the same document has equal sort keys.
    fileprivate func isSorted(like other: ViewRow) -> Bool {
        zip(keys, other.keys).allSatisfy { Sorter<ViewRow>.compare($0, $1) == 0 }
    }
}
