import SheafBytes

/// The address of a document: its collection, and its encoded id.
package struct DocumentAddress: Sendable {
    /// Maximum length of the name of a collection, in bytes.
    package static let maximumCollectionLength = 1 << 10
    /// Maximum length of an encoded id from a peer, in bytes; stores have a lower limit.
    package static let maximumIDLength = 4 << 10

    package let collection: String
    package let id: [UInt8]

    package init(collection: String, id: [UInt8]) {
        self.collection = collection
        self.id = id
    }

    /// Whether `collection` is the same name, compared byte by byte.
    package func isOf(_ collection: String?) -> Bool {
        guard let collection else { return false }
        return UTF8Order.compare(self.collection, collection) == 0
    }
}

extension DocumentAddress: Hashable, Comparable {
    package static func == (left: DocumentAddress, right: DocumentAddress) -> Bool {
        left.id == right.id && left.isOf(right.collection)
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(id)
        hasher.combine(collection)
    }

    package static func < (left: DocumentAddress, right: DocumentAddress) -> Bool {
        let order = UTF8Order.compare(left.collection, right.collection)
        return order != 0 ? order < 0 : left.id.lexicographicallyPrecedes(right.id)
    }
}
