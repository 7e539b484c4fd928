package import SheafBytes
import SheafDocument
package import SheafEngine
package import SheafQuery
import SheafStorage
package import SheafSync

/// Keys of documents of a collection, or of their index entries, and their addresses.
struct CollectionKeys {
    /// The bytes before the id in each key.
    let keyPrefix: [UInt8]
    /// The address of a document without its id.
    let prefix: [UInt8]
    /// The range of the keys.
    let all: KeyRange
    /// Whether bytes may follow the id in a key.
    private let isOfIndex: Bool

    /// Creates the keys of all documents, or those of a range.
    init(_ number: UInt16, _ collection: String, _ range: OrderedRange? = nil) {
        isOfIndex = range?.isOfIndex ?? false
        all = range?.keys ?? StoreKey.documents(of: number)
        keyPrefix =
            isOfIndex ? all.lower : StoreKey.document(collection: number, id: []).bytes
        prefix = DocumentAddress(collection: collection, id: []).bytes
    }

    func address(ofKey key: UnsafeRawBufferPointer) -> [UInt8] {
        let rest = UnsafeRawBufferPointer(rebasing: key[keyPrefix.count...])
        guard isOfIndex else { return prefix + rest }
        return prefix + rest.prefix(Self.idLength(in: rest))
    }

    /// Returns the length of a complete id at the beginning of bytes; 0 without one.
    private static func idLength(in bytes: UnsafeRawBufferPointer) -> Int {
        SortKeyReader.readBeginning(bytes, descending: [false]).length
    }

    /// Returns the range of the keys whose addresses are in a range.
    func range(ofAddresses range: KeyRange) -> KeyRange {
        KeyRange(from: key(ofBound: range.lower), to: range.upper.map(key(ofBound:)))
            .intersection(all)
    }

    /// Returns the least key of a document whose address is not below a bound.
    private func key(ofBound bound: [UInt8]) -> [UInt8] {
        if bound.starts(with: prefix) {
            let id = Array(bound.dropFirst(prefix.count))
            let length = isOfIndex ? id.span.withUnsafeBytes { Self.idLength(in: $0) } : 0
            guard length > 0, length < id.count else { return keyPrefix + id }
            // The id precedes the bound, as does its entry, whatever follows the id there.
            return KeyRange.prefix(keyPrefix + id.prefix(length)).upper ?? [.max]
        }
        if bound.lexicographicallyPrecedes(prefix) { return all.lower }
        return all.upper ?? [.max]
    }
}

/// The versions of the documents in a range of keys, which the tree of the store has as weights.
package struct StoredVersions: VersionSource {
    private let log: LogSnapshot
    private let documents: CollectionKeys
    /// The address of a document without its id.
    var prefix: [UInt8] { documents.prefix }
    /// The range of the keys.
    var keys: KeyRange { documents.all }

    /// Creates the versions of all documents of a collection, or of those in a range; nil if the
    /// tree lacks some of them.
    package init?(
        _ snapshot: DocumentSnapshot, _ collection: String, _ range: OrderedRange? = nil
    ) {
        guard let number = snapshot.catalog.number(ofCollection: collection) else { return nil }
        documents = CollectionKeys(number, collection, range)
        guard snapshot.hasVersions(in: documents.all) else { return nil }
        log = snapshot.log
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
        return withExtendedLifetime(cursor) { documents.address(ofKey: cursor.key) }
    }
}
