import SheafBytes
import SheafDocument
import SheafQuery

/// A store without documents; its collections may have an index that looks highly selective.
final class EmptyStore: QueryStore {
    var names = NameTable()
    var planState: PlanState?
    var usesColumns = false
    let virtualNames: [String] = []
    /// The number of collections that were looked up.
    private(set) var lookups = 0
    /// The scans of columns.
    private(set) var columnScans: [ColumnScan] = []

    private let index: IndexDescription?
    private let hasCollections: Bool

    /// Creates a store whose collections exist if `hasCollections` is true or fields are indexed.
    init(_ fields: [IndexDescription.Field] = [], hasCollections: Bool = false) {
        self.hasCollections = hasCollections || !fields.isEmpty
        index =
            fields.isEmpty
            ? nil
            : IndexDescription(
                name: "ix", fields: fields, keyPrefix: Self.indexPrefix, irregularKeys: nil)
    }

    private static let indexPrefix: [UInt8] = [0xFF, 0, 1]

    let commit: UInt64 = 0

    func past(_ point: PastPoint) -> any QueryStore { self }

    func collection(_ name: String) -> CollectionDescription? {
        lookups += 1
        guard hasCollections else { return nil }
        return CollectionDescription(
            name: name, keyPrefix: [1], indexes: index.map { [$0] } ?? [], tombstones: nil,
            hasPendingChanges: false)
    }

    func keyPrefix(ofCollection name: String) -> [UInt8]? { hasCollections ? [1] : nil }

    func forEachVirtualRow(
        _ name: String, _ bounds: RowBounds, _ body: (Object) throws(StoreError) -> Bool
    ) {}
    func count(in range: KeyRange) -> Int { range.lower.first == 1 ? 1_000 : 1 }

    func scan(
        _ range: KeyRange, _ order: ScanOrder, skipping skipped: Int, filter: FieldFilter?,
        _ tally: inout ScanTally, _ body: (ScannedDocuments) throws(StoreError) -> Int?
    ) throws(StoreError) {}

    func hasColumns(for scan: ColumnScan) -> Bool { false }

    func scan(
        _ columns: ColumnScan, _ tally: inout ScanTally,
        _ body: (ScannedDocuments) throws(StoreError) -> Int?
    ) throws(StoreError) -> Bool {
        columnScans.append(columns)
        return true
    }

    func scanPending(
        _ collection: CollectionDescription, filter: FieldFilter?, _ tally: inout ScanTally,
        _ body: (ScannedDocuments) throws(StoreError) -> Int?
    ) throws(StoreError) {}

    func scanKeys(
        _ range: KeyRange, isReversed: Bool, skipping skipped: Int,
        _ body: (_ key: UnsafeRawBufferPointer, _ pointer: UInt64) throws(StoreError) -> Bool
    ) throws(StoreError) {}

    func read(
        _ key: [UInt8], _ body: (ScannedDocument) throws(StoreError) -> Void
    ) throws(StoreError) {}

    func read(
        _ key: UnsafeRawBufferPointer, _ body: (ScannedDocument) throws(StoreError) -> Void
    ) throws(StoreError) {}

    func read(
        _ keys: KeyBatch, _ body: (_ number: Int, ScannedDocument) throws(StoreError) -> Bool
    ) throws(StoreError) {}
}
