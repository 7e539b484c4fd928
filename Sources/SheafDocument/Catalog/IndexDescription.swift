package import SheafBytes

/// An index: its fields and keys, as the planner needs them.
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
    /// The key prefix of its entries, followed by the field values and the id.
    package let keyPrefix: [UInt8]
    /// Keys of entries with truncated values; nil if there are none.
    package let irregularKeys: KeyRange?

    package init(
        name: String, fields: [Field], keyPrefix: [UInt8], irregularKeys: KeyRange?
    ) {
        self.name = name
        self.fields = fields
        self.keyPrefix = keyPrefix
        self.irregularKeys = irregularKeys
    }

    /// Whether two descriptions are of the same index with the same kind of entries.
    func isSame(as other: IndexDescription) -> Bool {
        keyPrefix == other.keyPrefix && irregularKeys == other.irregularKeys
            && fields == other.fields && name == other.name
    }

    /// Returns the same index with a range of truncated entries.
    package func withIrregularKeys(_ keys: KeyRange) -> IndexDescription {
        IndexDescription(name: name, fields: fields, keyPrefix: keyPrefix, irregularKeys: keys)
    }

    /// Whether each entry contains all values and the id.
    package var isRegular: Bool { irregularKeys == nil }
}
