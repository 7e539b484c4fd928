import SheafBytes
import SheafDocument

/// The search of a join for the partners of the preceding rows, prepared for one run.
///
/// The search of each row copies no part of the plan.
class PartnerSearch {
    /// Returns the search of a join; nil if it reads hash tables or pending documents.
    static func search(
        _ join: JoinPlan, _ source: SourcePlan, in store: any QueryStore
    ) -> PartnerSearch? {
        guard let collection = source.collection else { return nil }
        switch join.lookup {
        case .id(let evaluator, _):
            return IDSearch(evaluator, behind: collection.keyPrefix, store)
        case .index(let lookup):
            guard !collection.hasPendingChanges else { return nil }
            return lookup.isCovering ? EntrySearch(lookup, store) : DocumentSearch(lookup, store)
        case .hash, .scan: return nil
        }
    }

    /// Visits candidate partners of the current rows until `body` returns false.
    ///
    /// `isFound` is true if the search already satisfies the equalities of the join condition.
    func visit(
        _ frame: RowContext,
        _ body: (Row, _ position: UInt64, _ isFound: Bool) throws(StoreError) -> Bool
    ) throws(StoreError) {}

    /// Returns the number of partners of the current rows; nil if they must be visited.
    func count(_ frame: RowContext) throws(StoreError) -> Int? { nil }
}

/// A search by `_id`.
private final class IDSearch: PartnerSearch {
    private let id: Evaluator
    private let keys: KeyBatch
    private let store: any QueryStore

    init(_ id: @escaping Evaluator, behind prefix: [UInt8], _ store: any QueryStore) {
        self.id = id
        keys = KeyBatch(behind: prefix)
        self.store = store
    }

    override func visit(
        _ frame: RowContext,
        _ body: (Row, _ position: UInt64, _ isFound: Bool) throws(StoreError) -> Bool
    ) throws(StoreError) {
        guard let value = try id(frame), value.kind != .null else { return }
        keys.removeAll()
        // A key lookup suffices for 1.0, which is not a valid id, because it has the key of 1.
        keys.append(value)
        try store.read(keys[0]) { (document) throws(StoreError) in
            _ = try body(Row(document), document.position, value.isFoundByKey)
        }
    }
}

/// A search for the documents of index entries.
private final class DocumentSearch: PartnerSearch {
    private let lookup: IndexLookup
    private let store: any QueryStore

    init(_ lookup: IndexLookup, _ store: any QueryStore) {
        self.lookup = lookup
        self.store = store
    }

    override func visit(
        _ frame: RowContext,
        _ body: (Row, _ position: UInt64, _ isFound: Bool) throws(StoreError) -> Bool
    ) throws(StoreError) {
        guard let (ranges, isFound) = try lookup.ranges(frame) else { return }
        var continues = true
        var visited = ScanTally()
        for range in ranges where continues {
            try store.scan(range, .ascending, skipping: 0, filter: nil, &visited) {
                (documents) throws(StoreError) in
                for number in 0..<documents.count {
                    let document = documents[number]
                    continues = try body(Row(document), document.position, isFound)
                    guard continues else { return number + 1 }
                }
                return nil
            }
        }
    }
}

/// A search for the entries of a covering index.
private final class EntrySearch: PartnerSearch {
    private let lookup: IndexLookup
    private let store: any QueryStore
    private let row: EntryRow

    init(_ lookup: IndexLookup, _ store: any QueryStore) {
        self.lookup = lookup
        self.store = store
        row = EntryRow(lookup.index)
    }

    override func count(_ frame: RowContext) throws(StoreError) -> Int? {
        guard let (ranges, isFound) = try lookup.ranges(frame) else { return 0 }
        return isFound ? ranges.reduce(0) { $0 + store.count(in: $1) } : nil
    }

    override func visit(
        _ frame: RowContext,
        _ body: (Row, _ position: UInt64, _ isFound: Bool) throws(StoreError) -> Bool
    ) throws(StoreError) {
        guard let (ranges, isFound) = try lookup.ranges(frame) else { return }
        var continues = true
        for range in ranges where continues {
            try store.scanKeys(range, isReversed: false, skipping: 0) {
                (key, position) throws(StoreError) in
                try row.read(key)
                continues = try body(Row(row, position: position), position, isFound)
                return continues
            }
        }
    }
}
