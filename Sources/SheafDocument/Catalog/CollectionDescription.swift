package import SheafBytes

/// A collection: its keys and indexes, as the planner needs them.
package struct CollectionDescription: Sendable {
    package let name: String
    /// The key prefix of its documents, followed by the id.
    package let keyPrefix: [UInt8]
    /// The key range of all documents.
    package let keys: KeyRange
    package let indexes: [IndexDescription]
    /// Keys of tombstones; nil if their index entries cannot be used.
    ///
    /// Each tombstone also has a key in `keys`. Keys consist of the lower bound and the id.
    package let tombstones: KeyRange?
    /// Whether changes exist that keys do not reflect; they are visited after each scan.
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

    /// Creates the description of a collection in a particular snapshot.
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

    /// Whether the collection has the same keys and indexes in another state.
    package func hasSameKeysAndIndexes(as other: CollectionDescription) -> Bool {
        keyPrefix == other.keyPrefix && tombstones == other.tombstones
            && hasPendingChanges == other.hasPendingChanges
            && indexes.count == other.indexes.count
            && zip(indexes, other.indexes).allSatisfy { $0.isSame(as: $1) }
    }

    /// Returns the tombstone keys that correspond to the document keys in `range`.
    package func tombstones(in range: KeyRange) -> KeyRange? {
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
