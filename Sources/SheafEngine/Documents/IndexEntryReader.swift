package import SheafBytes
import SheafDocument
import SheafStorage

/// A decoder for the keys of one index.
package struct IndexEntryReader {
    /// The directions of the fields and of the id.
    private let isDescending: [Bool]
    /// The first four bytes of all keys as a number; `number` is the fifth.
    private let header: UInt32
    private let number: UInt8

    package init(_ definition: IndexDefinition) {
        isDescending = definition.isDescending + [false]
        header =
            UInt32(IndexChanges.firstByte) << 24 | UInt32(definition.collection) << 8
            | UInt32(definition.number >> 8)
        number = UInt8(definition.number & 0xFF)
    }

    /// Decodes an index key; throws if it belongs to another index.
    package func read(_ key: UnsafeRawBufferPointer) throws(Malformed) -> IndexEntry {
        let (region, start) = try readHeader(key)
        let rest = UnsafeRawBufferPointer(rebasing: key[start...])
        switch region {
        case .complete:
            var found = try SortKeyReader.read(rest, descending: isDescending)
            guard let id = found.removeLast() else { throw .invalid("a missing id", at: start) }
            return IndexEntry(region: region, values: found, id: id)
        case .truncated, .idOnly:
            return IndexEntry(region: region, values: [], id: try DocumentID.id(of: Array(rest)))
        }
    }

    /// Returns the region of a key, and the offset of its complete components or of its id.
    private func readHeader(
        _ key: UnsafeRawBufferPointer
    ) throws(Malformed) -> (IndexEntry.Region, start: Int) {
        guard key.count > IndexEntry.headerLength else { throw .truncated(at: key.count) }
        guard UInt32(bigEndian: key.loadUnaligned(as: UInt32.self)) == header, key[4] == number
        else { throw .invalid("an entry of another index", at: 0) }
        let tag = key[IndexEntry.regionOffset]
        guard let region = IndexEntry.Region(rawValue: tag) else {
            throw .unexpected(tag, at: IndexEntry.regionOffset)
        }
        let start =
            IndexEntry.headerLength + (region == .truncated ? IndexEntry.truncatedLength : 0)
        guard key.count > start else { throw .truncated(at: key.count) }
        return (region, start)
    }
}
