package import SheafDocument

/// The first documents of a collection by ORDER BY and LIMIT, updated document by document.
///
/// Equal sort keys are ordered by id, so that peers with the same documents have the same ranking.
package struct Ranking: Sendable {
    /// A ranked document with its sort keys.
    package struct Row: Sendable {
        /// The encoded id of the document.
        package let id: [UInt8]
        fileprivate let keys: [Value?]
    }

    /// The ranked documents in order.
    package private(set) var rows: [Row] = []
    /// Ids of the documents that entered or left since `clearChanges`.
    package private(set) var entered: Set<[UInt8]> = []
    package private(set) var left: Set<[UInt8]> = []
    private var ranks: [[UInt8]: Row] = [:]
    private let limit: Int
    private let isDescending: [Bool]

    /// Creates a ranking without rows.
    package init(isDescending: [Bool], limit: Int) {
        (self.isDescending, self.limit) = (isDescending, limit)
    }

    /// Whether the limit is reached, so that matching documents may follow the last one.
    package var isFull: Bool { rows.count >= limit }

    package func contains(_ id: [UInt8]) -> Bool { ranks[id] != nil }

    /// Returns the row of a document, or nil if it is not ranked.
    package func row(of id: [UInt8]) -> Row? { ranks[id] }

    /// Whether a document was ranked at the last `clearChanges`.
    package func contained(_ id: [UInt8]) -> Bool {
        left.contains(id) || (contains(id) && !entered.contains(id))
    }

    /// Whether one document precedes another.
    package func precedes(_ left: Row, _ right: Row) -> Bool { compare(left, right) < 0 }

    package mutating func clearChanges() {
        (entered, left) = ([], [])
    }

    /// Applies the change of a document; `row` is nil if the document does not match.
    ///
    /// Returns false if an unranked document may have entered. The ranking is then invalid and must
    /// be rebuilt from the store.
    package mutating func update(_ id: [UInt8], _ row: Row?) -> Bool {
        let wasFull = isFull
        if let old = ranks.removeValue(forKey: id) {
            rows.remove(at: position(of: old))
            guard let row else {
                record(left: id)
                return !wasFull
            }
            let index = position(of: row)
            insert(row, at: index)
            return !wasFull || index < rows.count - 1
        }
        guard let row else { return true }
        let index = position(of: row)
        guard index < limit else { return true }
        insert(row, at: index)
        record(entered: id)
        if rows.count > limit {
            let last = rows.removeLast()
            ranks[last.id] = nil
            record(left: last.id)
        }
        return true
    }

    /// Replaces the rows with those of a rebuilt ranking and records the differences.
    package mutating func replace(with other: Ranking) {
        for row in rows where !other.contains(row.id) { record(left: row.id) }
        for row in other.rows where !contains(row.id) { record(entered: row.id) }
        (rows, ranks) = (other.rows, other.ranks)
    }

    private mutating func insert(_ row: Row, at index: Int) {
        rows.insert(row, at: index)
        ranks[row.id] = row
    }

    private mutating func record(entered id: [UInt8]) {
        if left.remove(id) == nil { entered.insert(id) }
    }

    private mutating func record(left id: [UInt8]) {
        if entered.remove(id) == nil { left.insert(id) }
    }

    /// Returns the index of a row, or the index at which it would be inserted.
    private func position(of row: Row) -> Int {
        var (low, high) = (0, rows.count)
        while low < high {
            let middle = (low + high) / 2
            if compare(rows[middle], row) < 0 { low = middle + 1 } else { high = middle }
        }
        return low
    }

    private func compare(_ left: Row, _ right: Row) -> Int {
        let order = Sorter<Row>.compare(left.keys, right.keys, isDescending)
        guard order == 0 else { return order }
        if left.id == right.id { return 0 }
        return left.id.lexicographicallyPrecedes(right.id) ? -1 : 1
    }
}

extension IncrementalViewDefinition {
    /// Returns the row of a document, or nil if it does not match.
    package func rank(_ document: ScannedDocument) throws(StoreError) -> Ranking.Row? {
        guard try matches(document) else { return nil }
        return Ranking.Row(id: Array(document.id), keys: try keys(document))
    }
}

extension Ranking {
    /// Creates a ranking of the first `limit` documents, using an index if there is one.
    package init(_ definition: IncrementalViewDefinition, _ run: QueryRun, limit: Int)
        throws(StoreError)
    {
        self.limit = limit
        isDescending = definition.isDescending
        for id in try run.firstIDs(limit) {
            try run.environment.store.read(id) { (document) throws(StoreError) in
                guard let row = try definition.rank(document) else { return }
                rows.append(row)
                ranks[row.id] = row
            }
        }
        rows.sort(by: precedes)
    }
}

extension QueryRun {
    /// Returns the keys of the first documents of a SELECT; equal sort keys are ordered by id.
    fileprivate func firstIDs(_ limit: Int) throws(StoreError) -> [[UInt8]] {
        guard case .select(let select) = statement.body, limit > 0,
            let prefix = environment.store.keyPrefix(ofCollection: select.source.name.text)
        else { return [] }
        let range = select.source.name.range
        let id = Expression(.path([Row.idName]), at: range)
        var ids = Select(columns: [.expression(id, alias: nil)], source: select.source)
        ids.condition = select.condition
        ids.ordering = Ordering(
            terms: select.ordering.terms + [OrderTerm(id, isDescending: false)],
            limit: Expression(.literal(.integer(Int64(limit))), at: range))
        var keys: [[UInt8]] = []
        for item in try rows(of: ids).rows.items {
            guard let value = try item.object(environment.store.names)[Row.idName],
                let key = try? DocumentID.key(of: value)
            else { continue }
            keys.append(prefix + key)
        }
        return keys
    }
}
