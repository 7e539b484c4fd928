import SheafBytes
import SheafDocument
package import SheafEngine
import SheafStorage
import SheafSync

/// A resumable scan of the documents of a snapshot that match a subscription.
package struct MatchScan {
    let snapshot: DocumentSnapshot
    /// The remaining collections, beginning with the current one.
    private var collections: ArraySlice<String>
    /// The key at which to continue in the current collection.
    private var position: [UInt8]?

    package init(_ snapshot: DocumentSnapshot, _ collections: [String]) {
        self.snapshot = snapshot
        self.collections = collections[...]
    }

    /// Creates a scan in address order, the order of version lists.
    package init(versionsIn snapshot: DocumentSnapshot, _ matcher: SubscriptionMatcher) {
        self.init(
            snapshot, matcher.collections.sorted(by: DocumentSnapshot.addressesPrecede))
    }

    /// Visits the remaining documents; must be called again after `EngineError.paused`.
    package mutating func run(
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

/// A resumable scan of all documents of some collections.
struct DocumentScan {
    /// The remaining collections, beginning with the current one.
    private var collections: ArraySlice<String>
    /// The key at which to continue in the current collection.
    private var position: [UInt8]?

    package init(_ collections: [String] = []) {
        self.collections = collections[...]
    }

    /// Visits the remaining documents; must be called again after `EngineError.paused`.
    package mutating func run(
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

/// A builder of the version list of the documents that a scan visits.
package struct VersionListing {
    private(set) var list = VersionList()
    /// The address of the last document without its id; `prefix` is its encoding.
    private var address = DocumentAddress(collection: "", id: [])
    private var prefix: [UInt8] = []

    /// Adds a document, unless `isShown` returns false for it.
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
