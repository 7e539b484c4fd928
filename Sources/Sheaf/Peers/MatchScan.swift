import SheafBytes
import SheafDocument
import SheafStorage
import SheafSync

/// A visit of all documents of a snapshot that match a subscription, which can pause after any of them.
struct MatchScan {
    let snapshot: DocumentSnapshot
    /// The collections that are left, beginning with the current one.
    private var collections: ArraySlice<String>
    /// The key to go on with in the current collection.
    private var position: [UInt8]?

    init(_ snapshot: DocumentSnapshot, _ collections: [String]) {
        self.snapshot = snapshot
        self.collections = collections[...]
    }

    /// Creates a scan in the order of addresses, in which versions are listed.
    init(versionsIn snapshot: DocumentSnapshot, _ matcher: SubscriptionMatcher) {
        self.init(
            snapshot, matcher.collections.sorted(by: DocumentSnapshot.addressesPrecede))
    }

    /// Visits the documents that are left; after `EngineError.paused` it is called again.
    mutating func run(
        _ matcher: SubscriptionMatcher, _ rankings: SubscriptionRankings,
        _ body: ([UInt8], StoredDocument, String) throws(EngineError) -> Void
    ) throws(EngineError) {
        while let collection = collections.first {
            _ = try snapshot.forEachMatch(matcher, rankings, in: collection, from: &position) {
                (key, document) throws(EngineError) in
                try body(key, document, collection)
                return true
            }
            collections.removeFirst()
            position = nil
        }
    }
}

/// A visit of all documents of some collections, which can pause before any of them.
struct DocumentScan {
    /// The collections that are left, beginning with the current one.
    private var collections: ArraySlice<String>
    /// The key to go on with in the current collection.
    private var position: [UInt8]?

    init(_ collections: [String] = []) {
        self.collections = collections[...]
    }

    /// Visits the documents that are left; after `EngineError.paused` it is called again.
    mutating func run(
        _ snapshot: DocumentSnapshot,
        _ body: ([UInt8], StoredDocument, String) throws(EngineError) -> Void
    ) throws(EngineError) {
        while let collection = collections.first {
            try snapshot.forEachDocument(of: collection, from: position ?? []) {
                (key, document) throws(EngineError) in
                position = key
                try body(key, document, collection)
                return true
            }
            collections.removeFirst()
            position = nil
        }
    }
}

/// A list of documents and their versions that grows while a scan visits them.
struct VersionListing {
    private(set) var list = VersionList()
    /// The collection of the last document, and the first bytes of its addresses.
    private var address = DocumentAddress(collection: "", id: [])
    private var prefix: [UInt8] = []

    /// Adds a document, unless it is hidden.
    mutating func add(
        _ document: StoredDocument, _ key: [UInt8], _ collection: String,
        where isShown: SubscriptionRankings.Filter
    ) throws(EngineError) {
        if UTF8Order.compare(collection, address.collection) != 0 {
            address = DocumentAddress(collection: collection, id: [])
            prefix = address.bytes
        }
        guard try isShown(document, key, address) else { return }
        let hash = try onDocument(key) { () throws(Malformed) in
            try document.read { (bytes) throws(Malformed) in
                try EncodedDocument(bytes).vector().hash
            }
        }
        let id = key[StoreKey.documentPrefixLength...]
        list.append(DocumentVersion(id: prefix + id, version: hash))
    }
}
