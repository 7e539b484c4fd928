import SheafBytes
import SheafDocument
import SheafStorage

/// The link to what is left of a document that does not exist (`format-spec/indexes.md`, table 3).
///
///     0    1            3       5
///     | FF | collection | FF FF | id |
///
/// Documents and tombstones have keys of one kind; these links tell how many of them are tombstones.
enum TombstoneLink {
    /// Stands where others have the number of an index, which no index has.
    private static let mark: [UInt8] = [0xFF, 0xFF]

    /// The link to the document with this key of the log.
    static func key(toDocument key: [UInt8]) -> [UInt8] {
        var link: [UInt8] = []
        link.reserveCapacity(key.count + mark.count)
        link.append(LinkChanges.firstByte)
        link.append(contentsOf: key[1..<StoreKey.documentPrefixLength])
        link.append(contentsOf: mark)
        link.append(contentsOf: key[StoreKey.documentPrefixLength...])
        return link
    }

    /// Whether a link is one to a tombstone.
    static func isTombstone(_ link: [UInt8]) -> Bool {
        link.dropFirst(StoreKey.documentPrefixLength).starts(with: mark)
    }

    /// All links of a collection, in the order of the documents' keys.
    static func range(of collection: UInt16) -> KeyRange {
        .prefix(key(toDocument: StoreKey.document(collection: collection, id: []).bytes))
    }
}
