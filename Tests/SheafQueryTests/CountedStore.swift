import SheafBytes
import SheafDocument
import SheafQuery

/// A store without documents that has the given numbers of documents and index entries.
final class CountedStore: QueryStore {
    /// An index of a collection.
    struct Index {
        /// The fields; a name that ends with a minus sign is descending.
        let fields: [String]
        /// The number of all entries, and that of each other range of entries.
        let count: Int
        let part: Int
        /// The number of entries with truncated values; nil without any.
        let irregular: Int?
        /// The values of the first field, for skip scans.
        let values: [Int]

        init(
            _ fields: String..., count: Int = 1_000, part: Int = 0, irregular: Int? = nil,
            values: [Int] = []
        ) {
            (self.fields, self.count, self.part) = (fields, count, part)
            (self.irregular, self.values) = (irregular, values)
        }
    }

    let names: NameTable
    let planState: PlanState? = nil
    let usesColumns = false
    let virtualNames = ["history", "log", "indexes"]
    let commit: UInt64 = 0
    /// The bounds of the system collections that were read.
    private(set) var bounds: [RowBounds] = []

    private var collections: [String: CollectionDescription] = [:]
    /// The numbers of keys, by prefix: of the complete range, and of each other range.
    private var counts: [[UInt8]: (all: Int, part: Int)] = [:]
    private var entries: [[UInt8]] = []

    init() {
        names = NameTable(["a", "b", "d", "k", "n"]) ?? NameTable()
    }

    /// Creates a store with one collection `c`.
    convenience init(_ count: Int, part: Int = 0, _ indexes: Index...) {
        self.init()
        add("c", count, part: part, indexes)
    }

    /// Adds a collection; `part` is the number of documents in each range of ids.
    func add(_ name: String, _ count: Int, part: Int = 0, _ indexes: [Index]) {
        let number = UInt8(collections.count + 1)
        counts[[number]] = (count, part)
        var described: [IndexDescription] = []
        for index in indexes {
            let last = UInt8(described.count)
            let prefix: [UInt8] = [0x80, number, last]
            counts[prefix] = (index.count, index.part)
            var irregularKeys: KeyRange?
            if let irregular = index.irregular {
                let prefix: [UInt8] = [0x90, number, last]
                counts[prefix] = (irregular, irregular)
                irregularKeys = KeyRange.prefix(prefix)
            }
            for value in index.values {
                let first = ComponentRange.only(.integer(Int64(value))).lower.bytes
                entries.append(prefix + first + ComponentRange.only(.integer(1)).lower.bytes)
            }
            let names = index.fields.map { $0.replacing("-", with: "") }
            let fields = zip(names, index.fields).map { name, spelling in
                IndexDescription.Field([name], isDescending: spelling.hasSuffix("-"))
            }
            described.append(
                IndexDescription(
                    name: names.joined(separator: "_"), fields: fields, keyPrefix: prefix,
                    irregularKeys: irregularKeys))
        }
        entries.sort { $0.lexicographicallyPrecedes($1) }
        collections[name] = CollectionDescription(
            name: name, keyPrefix: [number], indexes: described, tombstones: nil,
            hasPendingChanges: false)
    }

    func past(_ point: PastPoint) -> any QueryStore { self }

    func collection(_ name: String) -> CollectionDescription? { collections[name] }

    func keyPrefix(ofCollection name: String) -> [UInt8]? { collections[name]?.keyPrefix }

    func forEachVirtualRow(
        _ name: String, _ bounds: RowBounds, _ body: (Object) throws(StoreError) -> Bool
    ) {
        self.bounds.append(bounds)
    }

    func count(in range: KeyRange) -> Int {
        for (prefix, count) in counts where range.lower.starts(with: prefix) {
            return range == .prefix(prefix) ? count.all : count.part
        }
        return 0
    }

    func scan(
        _ range: KeyRange, _ order: ScanOrder, skipping skipped: Int, filter: FieldFilter?,
        _ tally: inout ScanTally, _ body: (ScannedDocuments) throws(StoreError) -> Int?
    ) throws(StoreError) {}

    func hasColumns(for scan: ColumnScan) -> Bool { false }

    func scan(
        _ columns: ColumnScan, _ tally: inout ScanTally,
        _ body: (ScannedDocuments) throws(StoreError) -> Int?
    ) throws(StoreError) -> Bool { false }

    func scanPending(
        _ collection: CollectionDescription, filter: FieldFilter?, _ tally: inout ScanTally,
        _ body: (ScannedDocuments) throws(StoreError) -> Int?
    ) throws(StoreError) {}

    func scanKeys(
        _ range: KeyRange, isReversed: Bool, skipping skipped: Int,
        _ body: (_ key: UnsafeRawBufferPointer, _ pointer: UInt64) throws(StoreError) -> Bool
    ) throws(StoreError) {
        for entry in entries where range.contains(entry) {
            let goesOn = try entry.span.withUnsafeBytes { (key) throws(StoreError) in
                try body(key, 0)
            }
            guard goesOn else { return }
        }
    }

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
