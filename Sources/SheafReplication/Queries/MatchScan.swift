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

/// A builder of the version list of the documents that match a subscription.
package struct VersionListing {
    /// The listed documents of one collection.
    private struct Listed {
        let address: DocumentAddress
        let prefix: [UInt8]
        let hash: UInt64
        var versions = ListedVersions()

        init(_ collection: String) {
            address = DocumentAddress(collection: collection, id: [])
            prefix = address.bytes
            hash = VersionHasher.hash(ofCollection: collection)
        }
    }

    /// The versions of collections whose matching documents are one range of keys.
    private var stored: [StoredVersions] = []
    private var listed: [Listed] = []
    /// The collections to visit.
    package let scanned: [String]

    /// Begins the list of a snapshot.
    ///
    /// If all documents may be read, a collection whose matching documents are one range of keys is
    /// not visited.
    package init(
        _ snapshot: DocumentSnapshot, _ matcher: SubscriptionMatcher, of collections: [String],
        allAreReadable: Bool
    ) {
        var scanned: [String] = []
        for collection in collections {
            if allAreReadable, snapshot.shadows.isEmpty,
                let versions = matcher.storedVersions(of: collection, in: snapshot)
            {
                stored.append(versions)
            } else {
                scanned.append(collection)
            }
        }
        self.scanned = scanned
    }

    /// The list of all documents added, and of those that need not be visited.
    var list: VersionList {
        var sources: [VersionList.Source] = stored.map { ($0.prefix, $0) }
        sources += listed.map { ($0.prefix, $0.versions) }
        return VersionList(sources)
    }

    /// The newest operation of a document that need not be visited.
    func newestStored(in snapshot: DocumentSnapshot) -> RecordPointer? {
        stored.compactMap { snapshot.log.newestWeighted(in: $0.keys) }
            .max { $0.position < $1.position }
    }

    /// Adds a document, unless `isShown` returns false for it.
    mutating func add(
        _ document: StoredDocument, _ key: [UInt8], _ collection: String,
        where isShown: SubscriptionRankings.Filter
    ) throws(EngineError) {
        if listed.last?.address.isOf(collection) != true { listed.append(Listed(collection)) }
        let last = listed.count - 1
        guard try isShown(document, key, listed[last].address) else { return }
        let vector = try onDocument(key) { () throws(Malformed) in
            try document.read { (bytes) throws(Malformed) in
                try EncodedDocument(bytes).vectorHash()
            }
        }
        let id = key[StoreKey.documentPrefixLength...]
        let version = id.span.withUnsafeBytes {
            VersionHasher.hash(id: $0, collection: listed[last].hash, vector: vector)
        }
        listed[last].versions.append(
            DocumentVersion(id: listed[last].prefix + id, version: version))
    }
}
