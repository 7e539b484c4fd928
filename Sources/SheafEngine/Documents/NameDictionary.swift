import SheafBytes
import SheafDocument
import SheafStorage

/// The name dictionary: decides which field names get numbers, and which the log lacks.
///
/// A name gets a number when it occurs for the second time; those that several documents of one
/// INSERT share get theirs before it. Names that occur once, like ids used as
/// names, would fill the table.
struct NameDictionary: Sendable {
    private var writtenNameCount: Int
    private var writtenCollectionCount: Int
    private var occurrences: Set<UInt64> = []

    /// Maximum number of names remembered; frequent names recur after the set is cleared.
    private static let maximumOccurrences = 1 << 14

    /// Creates a dictionary with the names and collections in the log.
    package init(_ catalog: Catalog) {
        writtenNameCount = catalog.names.count
        writtenCollectionCount = catalog.collections.count
    }

    /// Counts an occurrence of a spelled-out name; assigns a number on the second one.
    mutating func recordOccurrence(of name: [UInt8], in catalog: inout Catalog) {
        guard catalog.names.number(of: name) == nil else { return }
        let hash = name.withUnsafeBytes { XXH3.hash64($0) }
        guard !occurrences.insert(hash).inserted else {
            if occurrences.count > Self.maximumOccurrences { occurrences = [hash] }
            return
        }
        occurrences.remove(hash)
        catalog.add(name: name)
    }

    /// Writes the names and collections that the log lacks to a batch.
    package func write(_ catalog: Catalog, into batch: inout WriteBatch) throws(StorageError) {
        for number in writtenNameCount..<catalog.names.count {
            guard let name = catalog.names.name(number) else { continue }
            try batch.put(StoreKey.name(UInt16(number)).bytes, Array(name.utf8))
        }
        for number in writtenCollectionCount..<catalog.collections.count {
            try batch.put(
                StoreKey.collection(UInt16(number)).bytes,
                Array(catalog.collections[number].utf8))
        }
    }

    /// Records that the log has all names and collections.
    mutating func markWritten(_ catalog: Catalog) {
        writtenNameCount = catalog.names.count
        writtenCollectionCount = catalog.collections.count
    }
}
