package import SheafBytes
package import SheafDocument

/// What statements read: the documents of one state, and their indexes.
package protocol QueryStore: AnyObject {
    /// At least all names that the documents have.
    var names: NameTable { get }

    /// The state that plans depend on; none where it is seen only once.
    var planState: PlanState? { get }

    /// A collection that has or had documents.
    func collection(_ name: String) -> CollectionDescription?

    /// What the keys of the documents of such a collection begin with.
    func keyPrefix(ofCollection name: String) -> [UInt8]?

    /// The names of the virtual collections, behind `system:`.
    var virtualNames: [String] { get }

    /// The rows of a virtual collection, by its name behind `system:`; none where there is none.
    func virtualRows(_ name: String) throws(QueryError) -> [Object]?

    /// How many entries have a key in a range: exactly, and without looking at them.
    func count(in range: KeyRange) -> Int

    /// Visits the documents of keys, some at a time, until `body` says after how many of them no more
    /// are wanted.
    ///
    /// The first `skipped` entries are passed over without a look. Documents that do not exist, and
    /// those for which `filter` does not hold, are passed over, too.
    func scan(
        _ range: KeyRange, _ order: ScanOrder, skipping skipped: Int, filter: FieldFilter?,
        _ tally: inout ScanTally, _ body: (ScannedDocuments) throws(QueryError) -> Int?
    ) throws(QueryError)

    /// Visits the documents of a collection that keys do not tell of, in the same way.
    ///
    /// Scans pass them over.
    func scanPending(
        _ collection: CollectionDescription, filter: FieldFilter?, _ tally: inout ScanTally,
        _ body: (ScannedDocuments) throws(QueryError) -> Int?
    ) throws(QueryError)

    /// Visits keys in order, until `body` returns false.
    func scanKeys(
        _ range: KeyRange, isReversed: Bool, skipping skipped: Int,
        _ body: (_ key: UnsafeRawBufferPointer, _ place: UInt64) throws(QueryError) -> Bool
    ) throws(QueryError)

    /// Visits one document, if it exists.
    func read(
        _ key: [UInt8], _ body: (ScannedDocument) throws(QueryError) -> Void
    ) throws(QueryError)

    /// Visits the documents of keys that exist, each with the number of its key, until `body` returns
    /// false.
    func read(
        _ keys: [[UInt8]], _ body: (_ number: Int, ScannedDocument) throws(QueryError) -> Bool
    ) throws(QueryError)
}

/// In which order a scan visits documents.
package enum ScanOrder: Sendable {
    case ascending
    case descending
    /// Whatever is fastest.
    case any
    /// The same, and nobody will have enough before the end.
    case all
}

/// Documents that a scan has come to; their bytes are valid during the visit.
package struct ScannedDocuments {
    private let fields: UnsafePointer<EncodedObject>
    private let stored: UnsafePointer<StoredBytes>
    /// Which of them are meant.
    private let indexes: UnsafeBufferPointer<UInt16>
    /// How long what stands before the ids in the keys is.
    private let keyPrefixLength: Int
    /// Whether their bytes are valid as long as the store.
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

    @inline(__always)
    func fields(_ number: Int) -> EncodedObject { fields[Int(indexes[number])] }

    /// The bytes of an id, as keys have them.
    @inline(__always)
    func id(_ number: Int) -> UnsafeRawBufferPointer {
        // A key that is too short has no id, and says so when it is read.
        let key = stored[Int(indexes[number])].key
        return UnsafeRawBufferPointer(rebasing: key.dropFirst(keyPrefixLength))
    }

    /// Those for which a filter holds; `kept` has room for the indexes of all.
    func keep(
        _ filter: FieldFilter, _ kept: UnsafeMutablePointer<UInt16>
    ) throws(QueryError) -> ScannedDocuments {
        let count: Int
        do throws(Malformed) {
            count = try filter.keep(indexes, of: fields, into: kept)
        } catch {
            try blame(filter)
            throw QueryError(.damaged, "a document is damaged: \(error)")
        }
        return ScannedDocuments(
            fields, stored, at: UnsafeBufferPointer(start: kept, count: count),
            keyPrefixLength: keyPrefixLength, isLasting: isLasting)
    }

    /// Throws for the first document of which a filter cannot be asked.
    private func blame(_ filter: FieldFilter) throws(QueryError) {
        for number in 0..<count {
            let fields = fields(number)
            _ = try onDocument(at: place(number)) { () throws(Malformed) in
                try filter.holds(fields)
            }
        }
    }

    @inline(__always)
    func place(_ number: Int) -> UInt64 { stored[Int(indexes[number])].place }

    @inline(__always)
    package subscript(number: Int) -> ScannedDocument {
        ScannedDocument(
            fields(number), id: id(number), place: place(number),
            isLasting: isLasting)
    }

}

/// A document that a scan has come to, or one that was looked up.
package struct ScannedDocument {
    package let fields: EncodedObject
    /// The bytes of its id, as keys have them.
    package let id: UnsafeRawBufferPointer
    /// What tells it from all other documents of the state.
    package let place: UInt64
    /// Whether its bytes are valid as long as the store.
    package let isLasting: Bool

    package init(
        _ fields: EncodedObject, id: UnsafeRawBufferPointer, place: UInt64, isLasting: Bool
    ) {
        self.fields = fields
        self.id = id
        self.place = place
        self.isLasting = isLasting
    }
}

/// How much a scan has looked at.
package struct ScanTally: Sendable {
    /// Entries of the tree.
    package var entries = 0
    /// Documents that were read.
    package var fetched = 0

    package init() {}
}

/// A collection as a plan sees it.
package struct CollectionDescription: Sendable {
    package let name: String
    /// What the keys of its documents begin with; their ids follow.
    package let keyPrefix: [UInt8]
    /// The keys of all documents.
    package let keys: KeyRange
    package let indexes: [IndexDescription]
    /// A key for each document of which only something is left, and whose other key is among those
    /// of the documents.
    ///
    /// Nothing where nobody knows how many there are. The ids follow the lower bound.
    package let tombstones: KeyRange?
    /// Whether there are changes that keys do not tell of: they are visited behind each scan.
    package let hasPendingChanges: Bool

    package init(
        name: String, keyPrefix: [UInt8], indexes: [IndexDescription], tombstones: KeyRange?,
        hasPendingChanges: Bool
    ) {
        self.name = name
        self.keyPrefix = keyPrefix
        keys = .prefix(keyPrefix)
        self.indexes = indexes
        self.tombstones = tombstones
        self.hasPendingChanges = hasPendingChanges
    }

    /// The collection in a state.
    package init(
        _ base: CollectionDescription, indexes: [IndexDescription], hasTombstones: Bool,
        hasPendingChanges: Bool
    ) {
        name = base.name
        keyPrefix = base.keyPrefix
        keys = base.keys
        self.indexes = indexes
        tombstones = hasTombstones ? base.tombstones : nil
        self.hasPendingChanges = hasPendingChanges
    }

    /// The keys of what is left of those documents whose keys would be in `range`.
    func tombstones(in range: KeyRange) -> KeyRange? {
        guard let tombstones else { return nil }
        func moved(_ bound: [UInt8]) -> [UInt8]? {
            guard bound.starts(with: keyPrefix) else { return nil }
            return tombstones.lower + bound.dropFirst(keyPrefix.count)
        }
        return KeyRange(
            from: moved(range.lower) ?? tombstones.lower,
            to: range.upper.flatMap(moved) ?? tombstones.upper)
    }
}

/// An index as a plan sees it.
package struct IndexDescription: Sendable {
    package struct Field: Hashable, Sendable {
        package let path: [String]
        package let isDescending: Bool

        package init(_ path: [String], isDescending: Bool = false) {
            self.path = path
            self.isDescending = isDescending
        }
    }

    package let name: String
    package let fields: [Field]
    /// What the keys of its entries begin with; the values of the fields follow, and the id.
    package let keyPrefix: [UInt8]
    /// The keys of entries that do not tell all values and the id, since those are too long; none
    /// where there are no such entries.
    package let irregularKeys: KeyRange?

    package init(
        name: String, fields: [Field], keyPrefix: [UInt8], irregularKeys: KeyRange?
    ) {
        self.name = name
        self.fields = fields
        self.keyPrefix = keyPrefix
        self.irregularKeys = irregularKeys
    }

    /// The same, some of whose entries do not tell everything.
    package func withIrregularKeys(_ keys: KeyRange) -> IndexDescription {
        IndexDescription(name: name, fields: fields, keyPrefix: keyPrefix, irregularKeys: keys)
    }

    /// Whether each entry tells all values and the id.
    package var isRegular: Bool { irregularKeys == nil }
}
