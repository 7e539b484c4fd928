package import SheafBytes
import SheafDocument
package import SheafEngine
import SheafStorage
package import SheafSync

/// The keys of the documents of a collection, and their addresses.
struct CollectionKeys {
    /// The key of a document without its id.
    let keyPrefix: [UInt8]
    /// The address of a document without its id.
    let prefix: [UInt8]
    /// The range of the documents.
    let all: KeyRange

    init(_ number: UInt16, _ collection: String) {
        keyPrefix = StoreKey.document(collection: number, id: []).bytes
        prefix = DocumentAddress(collection: collection, id: []).bytes
        all = StoreKey.documents(of: number)
    }

    func address(ofKey key: UnsafeRawBufferPointer) -> [UInt8] {
        prefix + key[StoreKey.documentPrefixLength...]
    }

    /// Returns the range of the keys whose addresses are in a range.
    func range(ofAddresses range: KeyRange) -> KeyRange {
        KeyRange(from: key(ofBound: range.lower), to: range.upper.map(key(ofBound:)))
            .intersection(all)
    }

    /// Returns the least key of a document whose address is not below a bound.
    private func key(ofBound bound: [UInt8]) -> [UInt8] {
        if bound.starts(with: prefix) { return keyPrefix + bound.dropFirst(prefix.count) }
        if bound.lexicographicallyPrecedes(prefix) { return all.lower }
        return all.upper ?? [.max]
    }
}

/// The versions of all documents of a collection, which the tree of the store has as weights.
package struct StoredVersions: VersionSource {
    private let log: LogSnapshot
    private let documents: CollectionKeys
    /// The address of a document without its id.
    var prefix: [UInt8] { documents.prefix }
    /// The range of the documents.
    var keys: KeyRange { documents.all }

    /// Returns nil if the tree lacks versions of documents.
    package init?(_ snapshot: DocumentSnapshot, _ collection: String) {
        guard let number = snapshot.catalog.number(ofCollection: collection),
            snapshot.hasVersions(ofCollection: number)
        else { return nil }
        log = snapshot.log
        documents = CollectionKeys(number, collection)
    }

    package func total(in range: KeyRange) -> VersionTotal {
        let keys = documents.range(ofAddresses: range)
        guard !keys.isEmpty else { return VersionTotal() }
        let count = log.tree.count(in: keys)
        return VersionTotal(count: count, sum: log.tree.weights(in: keys).sum)
    }

    package func forEach(in range: KeyRange, _ body: (DocumentVersion) -> Void) {
        log.tree.forEach(in: documents.range(ofAddresses: range)) { key, value in
            // A tombstone has the weight 0.
            if let version = value.weight, version != 0 {
                body(DocumentVersion(id: documents.address(ofKey: key), version: version))
            }
            return true
        }
    }

    package func address(_ number: Int, in range: KeyRange) -> [UInt8]? {
        let keys = documents.range(ofAddresses: range)
        guard number < log.tree.count(in: keys) else { return nil }
        let cursor = log.tree.cursor()
        let before = keys.lower.span.withUnsafeBytes { log.tree.rank(of: $0) }
        guard cursor.seek(rank: before + number) else { return nil }
        return documents.address(ofKey: cursor.key)
    }
}
