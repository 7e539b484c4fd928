package import SheafBytes
package import SheafDocument
import SheafStorage

/// An index entry, which points to the newest operation of a document (`format-spec/indexes.md`).
///
///     0    1            3       5        6
///     | FF | collection | index | region | components, id, trailer |
///
/// Each document of the collection has one entry; its region shows how much of the values fits.
package struct IndexEntry: Sendable {
    /// The extent to which an entry contains the indexed values of a document.
    package enum Region: UInt8, CaseIterable, Sendable {
        /// All values and the id; their order is exact.
        case complete = 0
        /// The first bytes of the values, and the id; a range scan may find too many documents.
        case truncated = 1
        /// The id alone.
        case idOnly = 2
    }

    package let region: Region
    /// The values of the fields, nil if missing; empty unless the entry is complete.
    package let values: [Value?]
    package let id: Value

    /// The offset of the region in a key, and of the components after it.
    static let regionOffset = 5
    static let headerLength = 6
    /// Length of the components in a truncated entry.
    package static let truncatedLength = 256

    /// Returns the index key of a document; `id` is its encoded id.
    package static func key(
        of definition: IndexDefinition, _ values: [Value?], id: [UInt8]
    ) -> [UInt8] {
        var writer = SortKeyWriter(behind: prefix(of: definition, .complete))
        for (value, field) in zip(values, definition.fields) {
            writer.append(value, descending: field.isDescending)
        }
        id.span.withUnsafeBytes { complete(&writer, of: definition, id: $0) }
        return writer.components
    }

    /// Completes the index key of a document; `id` is its encoded id.
    ///
    /// `writer` has the prefix of complete entries, and the values of the fields.
    static func complete(
        _ writer: inout SortKeyWriter, of definition: IndexDefinition, id: UnsafeRawBufferPointer
    ) {
        // The id adds nothing to the trailer, because all its numbers are integers.
        let trailer = writer.trailer
        if writer.components.count + id.count + trailer.count <= Limits.maximumIndexEntryLength {
            writer.append(raw: id)
            if !trailer.isEmpty { trailer.span.withUnsafeBytes { writer.append(raw: $0) } }
            return
        }
        let components = writer.components.dropFirst(headerLength)
        if components.count >= truncatedLength,
            headerLength + truncatedLength + id.count <= Limits.maximumIndexEntryLength
        {
            let kept = components.prefix(truncatedLength)
            writer.restart(behind: prefix(of: definition, .truncated) + kept)
        } else {
            writer.restart(behind: prefix(of: definition, .idOnly))
        }
        writer.append(raw: id)
    }

    /// Decodes an index key; an `IndexEntryReader` is faster for many keys.
    package init(
        _ key: UnsafeRawBufferPointer, of definition: IndexDefinition
    ) throws(Malformed) {
        self = try IndexEntryReader(definition).read(key)
    }

    package init(region: Region, values: [Value?], id: Value) {
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

    /// Returns the range of incomplete entries; if it is empty, order and values are exact.
    static func incompleteRange(collection: UInt16, number: UInt16) -> KeyRange {
        KeyRange(
            from: prefix(of: collection, number, .truncated),
            to: range(collection: collection, number: number).upper)
    }

    private static func prefix(collection: UInt16, number: UInt16) -> [UInt8] {
        [
            IndexChanges.firstByte, UInt8(collection >> 8), UInt8(collection & 0xFF),
            UInt8(number >> 8), UInt8(number & 0xFF),
        ]
    }

    /// Returns the range of all entries of an index.
    package static func range(collection: UInt16, number: UInt16) -> KeyRange {
        .prefix(prefix(collection: collection, number: number))
    }
}

extension IndexDefinition {
    /// The range of all entries of the index.
    package var entries: KeyRange { IndexEntry.range(collection: collection, number: number) }

    /// Returns the range of entries in a region whose components lie between two bounds.
    ///
    /// The lower bound is inclusive, the upper one exclusive; a missing bound leaves the range
    /// open. Bounds are components encoded by `SortKeyWriter`, of all fields or the first ones.
    /// Outside of the region of complete entries, the range may have other documents too, which
    /// must be checked.
    package func entries(
        in region: IndexEntry.Region, from lower: [UInt8] = [], to upper: [UInt8]? = nil
    ) -> KeyRange {
        let prefix = IndexEntry.prefix(of: self, region)
        let all = KeyRange.prefix(prefix)
        let cut = IndexEntry.truncatedLength
        switch region {
        case .idOnly: return all
        case .complete:
            return KeyRange(from: prefix + lower, to: upper.map { prefix + $0 } ?? all.upper)
        case .truncated:
            guard let upper else {
                return KeyRange(from: prefix + lower.prefix(cut), to: all.upper)
            }
            // An entry before a longer bound may be equal to it up to the length that was kept.
            let end =
                upper.count > cut
                ? KeyRange.prefix(prefix + upper.prefix(cut)).upper : prefix + upper
            return KeyRange(from: prefix + lower.prefix(cut), to: end)
        }
    }
}
