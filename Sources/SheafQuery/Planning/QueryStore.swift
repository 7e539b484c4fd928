package import SheafBytes
package import SheafDocument

/// A snapshot of a store with its documents and indexes.
package protocol QueryStore: AnyObject {
    /// The names of all fields, possibly among other names.
    var names: NameTable { get }

    /// The state that plans depend on; nil if the snapshot is used only once.
    var planState: PlanState? { get }

    /// The commit whose state this is.
    var commit: UInt64 { get }

    /// Returns the store in an earlier state.
    func past(_ point: PastPoint) throws(StoreError) -> any QueryStore

    /// Returns a collection that has or had documents.
    func collection(_ name: String) -> CollectionDescription?

    /// Returns the prefix of the document keys of a collection that has or had documents.
    func keyPrefix(ofCollection name: String) -> [UInt8]?

    /// Names of the system collections, without `system:`.
    var virtualNames: [String] { get }

    /// Visits the rows of a system collection, if it exists, until `body` returns false.
    func forEachVirtualRow(
        _ name: String, _ bounds: RowBounds, _ body: (Object) throws(StoreError) -> Bool
    ) throws(StoreError)

    /// Returns the exact number of entries in a range, without visiting them.
    func count(in range: KeyRange) -> Int

    /// Visits documents in batches until `body` returns the number of documents after which to
    /// stop.
    ///
    /// The first `skipped` entries are skipped by rank. Documents that do not exist or do not match
    /// `filter` are omitted.
    func scan(
        _ range: KeyRange, _ order: ScanOrder, skipping skipped: Int, filter: FieldFilter?,
        _ tally: inout ScanTally, _ body: (ScannedDocuments) throws(StoreError) -> Int?
    ) throws(StoreError)

    /// Whether fields may be in columns in memory.
    var usesColumns: Bool { get }

    /// Visits all documents of a collection like `scan`, in ascending order and from columns;
    /// returns false, without a visit, if the fields are not in columns.
    ///
    /// If the scan has no consumer of columns, the documents that match are passed to `body`; so
    /// are those that are not in columns.
    func scan(
        _ columns: ColumnScan, _ tally: inout ScanTally,
        _ body: (ScannedDocuments) throws(StoreError) -> Int?
    ) throws(StoreError) -> Bool

    /// Whether all fields of a scan are in columns.
    func hasColumns(for scan: ColumnScan) -> Bool

    /// Visits the pending documents of a collection, which scans omit.
    func scanPending(
        _ collection: CollectionDescription, filter: FieldFilter?, _ tally: inout ScanTally,
        _ body: (ScannedDocuments) throws(StoreError) -> Int?
    ) throws(StoreError)

    /// Visits keys in order until `body` returns false.
    func scanKeys(
        _ range: KeyRange, isReversed: Bool, skipping skipped: Int,
        _ body: (_ key: UnsafeRawBufferPointer, _ position: UInt64) throws(StoreError) -> Bool
    ) throws(StoreError)

    /// Visits a document if it exists.
    func read(
        _ key: [UInt8], _ body: (ScannedDocument) throws(StoreError) -> Void
    ) throws(StoreError)

    /// Visits a document if it exists; the key need not outlive the call.
    func read(
        _ key: UnsafeRawBufferPointer, _ body: (ScannedDocument) throws(StoreError) -> Void
    ) throws(StoreError)

    /// Visits existing documents by key, with the index of the key, until `body` returns false.
    func read(
        _ keys: KeyBatch, _ body: (_ number: Int, ScannedDocument) throws(StoreError) -> Bool
    ) throws(StoreError)
}

/// The order in which a scan visits documents.
package enum ScanOrder: Sendable {
    case ascending
    case descending
    /// The fastest order.
    case any
    /// The fastest order for a scan that is never stopped early.
    case all
}

/// A batch of scanned documents; the bytes are valid during the visit.
package struct ScannedDocuments {
    private let fields: UnsafePointer<EncodedObject>
    private let stored: UnsafePointer<StoredBytes>
    /// Indexes of the documents in the batch.
    private let indexes: UnsafeBufferPointer<UInt16>
    /// Length of the key prefix before the ids.
    private let keyPrefixLength: Int
    /// Whether the bytes remain valid until the store is closed.
    let isLasting: Bool

    package init(
        _ fields: UnsafePointer<EncodedObject>, _ stored: UnsafePointer<StoredBytes>,
        at indexes: UnsafeBufferPointer<UInt16>, keyPrefixLength: Int, isLasting: Bool
    ) {
        self.fields = fields
        self.stored = stored
        self.indexes = indexes
        self.keyPrefixLength = keyPrefixLength
        self.isLasting = isLasting
    }

    @inline(__always)
    package var count: Int { indexes.count }

    /// The documents of which the batch is a selection, and their indexes in order.
    var documents: UnsafePointer<EncodedObject> { fields }
    var selection: UnsafeBufferPointer<UInt16> { indexes }

    @inline(__always)
    func fields(_ number: Int) -> EncodedObject { fields[Int(indexes[number])] }

    /// Returns the encoded id of a document.
    @inline(__always)
    func id(_ number: Int) -> UnsafeRawBufferPointer {
        // A key shorter than the prefix yields an empty id, which fails to decode.
        let key = stored[Int(indexes[number])].key
        return UnsafeRawBufferPointer(rebasing: key.dropFirst(keyPrefixLength))
    }

    /// Returns the documents that match a filter; `kept` has room for all of their indexes.
    func select(
        _ filter: FieldFilter, _ kept: UnsafeMutablePointer<UInt16>
    ) throws(StoreError) -> ScannedDocuments {
        let count: Int
        do throws(Malformed) {
            count = try filter.select(indexes, of: fields, into: kept)
        } catch {
            try blame(filter)
            throw StoreError(error)
        }
        return ScannedDocuments(
            fields, stored, at: UnsafeBufferPointer(start: kept, count: count),
            keyPrefixLength: keyPrefixLength, isLasting: isLasting)
    }

    /// Throws an error with the position of the first document that the filter cannot read.
    private func blame(_ filter: FieldFilter) throws(StoreError) {
        for number in 0..<count {
            let fields = fields(number)
            _ = try onDocument(at: position(number)) { () throws(Malformed) in
                try filter.holds(fields)
            }
        }
    }

    @inline(__always)
    func position(_ number: Int) -> UInt64 { stored[Int(indexes[number])].pointer }

    @inline(__always)
    package subscript(number: Int) -> ScannedDocument {
        ScannedDocument(
            fields(number), id: id(number), position: position(number),
            isLasting: isLasting)
    }

}

/// Counters of a scan.
package struct ScanTally: Sendable {
    /// Number of tree entries visited.
    package var entries = 0
    /// Number of documents read.
    package var fetched = 0

    package init() {}
}
