package import SheafBytes
package import SheafDocument
import SheafQuery
import SheafStorage

/// What an index has of a document: a link to its newest operation (`format-spec/indexes.md`).
///
///     0    1            3       5        6
///     | FF | collection | index | region | components, id, trailer |
///
/// Each document of the collection has one entry, in the region that says how much of it fits.
package struct IndexEntry: Sendable {
    /// How much of a document an entry has.
    package enum Region: UInt8, CaseIterable, Sendable {
        /// All values and the id: order and values can be trusted.
        case whole = 0
        /// The first bytes of the values, and the id: a range finds at least what lies in it.
        case cut = 1
        /// The id alone.
        case bare = 2
    }

    package let region: Region
    /// The values of the fields, nil where one is missing; only of an entry that is whole.
    package let values: [Value?]
    package let id: Value

    /// Where the region stands in a key, and what follows it.
    static let regionOffset = 5
    static let headerLength = 6
    /// So many bytes of the components has an entry that is cut.
    package static let cutLength = 256

    /// The key of a document, whose id has these bytes.
    package static func key(
        of definition: IndexDefinition, _ values: [Value?], id: [UInt8]
    ) -> [UInt8] {
        var writer = SortKeyWriter(behind: prefix(of: definition, .whole))
        for (value, field) in zip(values, definition.fields) {
            writer.append(value, descending: field.isDescending)
        }
        return id.span.withUnsafeBytes { key(of: definition, writer, id: $0) }
    }

    /// The key of a document, of which a writer has all values behind the prefix of whole entries.
    static func key(
        of definition: IndexDefinition, _ whole: consuming SortKeyWriter,
        id: UnsafeRawBufferPointer
    ) -> [UInt8] {
        // All numbers of an id are integers, of which a trailer says nothing.
        let trailer = whole.trailer
        if whole.components.count + id.count + trailer.count <= Limits.maximumLinkLength {
            whole.append(raw: id)
            trailer.span.withUnsafeBytes { whole.append(raw: $0) }
            return whole.components
        }
        let components = whole.components.dropFirst(headerLength)
        if components.count >= cutLength,
            headerLength + cutLength + id.count <= Limits.maximumLinkLength
        {
            return prefix(of: definition, .cut) + components.prefix(cutLength) + id
        }
        return prefix(of: definition, .bare) + id
    }

    /// Reads a key of the index back; who reads many makes an `IndexEntryReader`.
    package init(
        _ key: UnsafeRawBufferPointer, of definition: IndexDefinition
    ) throws(Malformed) {
        self = try IndexEntryReader(definition).read(key)
    }

    init(region: Region, values: [Value?], id: Value) {
        self.region = region
        self.values = values
        self.id = id
    }

    static func prefix(of definition: IndexDefinition, _ region: Region) -> [UInt8] {
        prefix(of: definition.collection, definition.number, region)
    }

    static func prefix(of collection: UInt16, _ number: UInt16, _ region: Region) -> [UInt8] {
        prefix(collection: collection, number: number) + [region.rawValue]
    }

    /// The entries that do not have all of their documents: while there is none, order and values of
    /// an index can be trusted.
    static func incompleteRange(collection: UInt16, number: UInt16) -> KeyRange {
        KeyRange(
            from: prefix(of: collection, number, .cut),
            to: range(collection: collection, number: number).upper)
    }

    private static func prefix(collection: UInt16, number: UInt16) -> [UInt8] {
        [
            LinkChanges.firstByte, UInt8(collection >> 8), UInt8(collection & 0xFF),
            UInt8(number >> 8), UInt8(number & 0xFF),
        ]
    }

    /// All entries of an index.
    package static func range(collection: UInt16, number: UInt16) -> KeyRange {
        .prefix(prefix(collection: collection, number: number))
    }
}

extension IndexDefinition {
    /// All entries of the index.
    package var entries: KeyRange { IndexEntry.range(collection: collection, number: number) }

    /// Where in a region those entries are whose components lie between two bounds, of which the
    /// lower belongs to the range; without one at either end all entries there are in it.
    ///
    /// Bounds are components as `SortKeyWriter` makes them, of the first fields or all. Outside of
    /// the whole entries others may lie in the range, too: their documents have to be asked.
    package func entries(
        in region: IndexEntry.Region, from lower: [UInt8] = [], to upper: [UInt8]? = nil
    ) -> KeyRange {
        let prefix = IndexEntry.prefix(of: self, region)
        let all = KeyRange.prefix(prefix)
        let cut = IndexEntry.cutLength
        switch region {
        case .bare: return all
        case .whole:
            return KeyRange(from: prefix + lower, to: upper.map { prefix + $0 } ?? all.upper)
        case .cut:
            guard let upper else {
                return KeyRange(from: prefix + lower.prefix(cut), to: all.upper)
            }
            // What comes before a bound that is longer may be equal to it as far as it was kept.
            let end =
                upper.count > cut
                ? KeyRange.prefix(prefix + upper.prefix(cut)).upper : prefix + upper
            return KeyRange(from: prefix + lower.prefix(cut), to: end)
        }
    }
}
