import SheafBytes
package import SheafDocument

/// A row of a result that is kept up to date.
package struct LiveRow {
    package let item: ResultItem
    /// What it is sorted by.
    let keys: [Value?]
    /// The bytes of the id of its document, as keys have them.
    let id: [UInt8]

    init(_ item: ResultItem, keys: [Value?], id: [UInt8]) {
        self.item = item
        self.keys = keys
        self.id = id
    }
}

/// The rows of a result, changed document by document.
///
/// Rows that nothing else puts in order are in that of their ids.
package struct LiveRows {
    /// What a changed document does to a result.
    package enum Effect {
        case none
        case changed
        /// The document does not tell: the statement has to be run again.
        case unknown
    }

    package private(set) var rows: [LiveRow] = []
    /// What was done to the rows since somebody took the edits; none where that was too much.
    private var edits: [RowEdit]? = []
    /// Rows that a limit has pushed out since then, and that may come back.
    private var pushedOut: [LiveRow] = []

    /// More rows are not kept: the statement is run again then.
    package static let maximumCount = 1 << 14

    /// The rows of a result; none where it has too many.
    package init?(
        _ watched: WatchedSelect, _ environment: QueryRun
    ) throws(QueryError) {
        guard let plan = try environment.planOfDocuments() else { return nil }
        // One more tells that there are too many, and nobody has to look at the rest.
        plan.limit = Self.maximumCount + 1
        let run = SelectRun(plan, environment.environment)
        var rows: [LiveRow] = []
        var isTooLong = false
        try run.forEach { (frame) throws(QueryError) in
            guard rows.count < Self.maximumCount else {
                isTooLong = true
                return
            }
            let row = frame.rows[0]
            guard let fields = row.fields, let id = row.id else { return }
            rows.append(
                try watched.row(
                    ScannedDocument(fields, id: id, place: row.place, isLasting: row.isLasting)))
        }
        guard !isTooLong else { return nil }
        rows.sort { Self.compare($0, $1, watched.isDescending) < 0 }
        if let limit = watched.limit, rows.count > limit { rows.removeSubrange(limit...) }
        self.rows = rows
    }

    /// Takes in what became of a document.
    package mutating func take(
        _ images: DocumentImages, _ watched: WatchedSelect
    ) throws(QueryError) -> Effect {
        let before = try images.before.flatMap { (document) throws(QueryError) in
            try watched.matches(document) ? document : nil
        }
        let after = try images.after.flatMap { (document) throws(QueryError) in
            try watched.matches(document) ? document : nil
        }
        var old: Int?
        if let before {
            let keys = try watched.keys(before)
            let place = place(of: keys, before.id, watched.isDescending)
            guard place.isThere || watched.limit != nil else { return .unknown }
            if place.isThere { old = place.index }
        }
        guard let after else {
            guard let old else { return .none }
            // Somebody behind the limit comes in.
            if let limit = watched.limit, rows.count >= limit { return .unknown }
            note(.remove(at: old, id: rows.remove(at: old).id))
            return .changed
        }
        // The bytes of before stay, which say the same.
        if old != nil, watched.isPlain, images.sayTheSame { return .none }
        let row = try watched.row(after)
        if let old {
            let previous = rows[old]
            guard previous.isSorted(like: row) else {
                return move(row, from: old, watched)
            }
            rows[old] = row
            guard !previous.item.isComputed(like: row.item) else { return .none }
            note(.update(at: old))
            return .changed
        }
        let (index, _) = place(of: row.keys, after.id, watched.isDescending)
        if let limit = watched.limit, rows.count >= limit {
            guard index < limit else { return .none }
            let last = rows.removeLast()
            note(.remove(at: rows.count, id: last.id))
            if edits != nil { pushedOut.append(last) }
        }
        rows.insert(row, at: index)
        let previous = pushedOut.last { $0.id == row.id }
        let isUpdated = previous.map { !$0.item.isComputed(like: row.item) } ?? true
        note(.insert(at: index, id: row.id, isUpdated: isUpdated))
        return .changed
    }

    /// Takes away the edits since the last time; none where they were too many.
    package mutating func takeEdits() -> [RowEdit]? {
        defer { (edits, pushedOut) = ([], []) }
        return edits
    }

    private mutating func note(_ edit: RowEdit) {
        guard let count = edits?.count else { return }
        guard count < RowEdit.maximumCount else {
            (edits, pushedOut) = (nil, [])
            return
        }
        edits?.append(edit)
    }

    /// Whether rows say what others said, which are of another state.
    package func say(_ others: LiveRows, _ names: NameTable) throws(QueryError) -> Bool {
        guard rows.count == others.rows.count else { return false }
        for (row, other) in zip(rows, others.rows) {
            guard try row.item.says(other.item, names) else { return false }
        }
        return true
    }

    private mutating func move(
        _ row: LiveRow, from old: Int, _ watched: WatchedSelect
    ) -> Effect {
        let isFull = watched.limit.map { rows.count >= $0 } ?? false
        let previous = rows.remove(at: old)
        let index = place(of: row, watched.isDescending)
        // At the end somebody behind the limit may come before it.
        if isFull, index == rows.count { return .unknown }
        rows.insert(row, at: index)
        let isUpdated = !previous.item.isComputed(like: row.item)
        // What only sorts differently may stay where it is.
        guard isUpdated || index != old else { return .none }
        note(.move(from: old, to: index, isUpdated: isUpdated))
        return .changed
    }

    // MARK: Order

    private func place(of row: LiveRow, _ isDescending: [Bool]) -> Int {
        row.id.span.withUnsafeBytes { place(of: row.keys, $0, isDescending).index }
    }

    /// Where a row is, or would be.
    private func place(
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

    private static func compare(_ left: LiveRow, _ right: LiveRow, _ isDescending: [Bool]) -> Int {
        right.id.span.withUnsafeBytes { compare(left, right.keys, $0, isDescending) }
    }

    private static func compare(
        _ row: LiveRow, _ keys: [Value?], _ id: UnsafeRawBufferPointer, _ isDescending: [Bool]
    ) -> Int {
        for index in isDescending.indices {
            let order = Sorter<LiveRow>.compare(row.keys[index], keys[index])
            if order != 0 { return isDescending[index] ? -order : order }
        }
        return row.id.span.withUnsafeBytes { UTF8Order.compare($0, id) }
    }
}

extension LiveRow {
    /// Whether another row of the same document stands at the same place.
    fileprivate func isSorted(like other: LiveRow) -> Bool {
        zip(keys, other.keys).allSatisfy { Sorter<LiveRow>.compare($0, $1) == 0 }
    }
}
