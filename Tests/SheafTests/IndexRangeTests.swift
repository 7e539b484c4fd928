import SheafBytes
import SheafDocument
import SheafEngine
import SheafStorage
import SheafTestSupport
import Testing

/// The ranges of index entries between bounds, and the lengths at which entries are truncated.
@Suite struct IndexRangeTests {
    private let definition = IndexDefinition(
        collection: 258, number: 772, name: "i", fields: [IndexDefinition.Field(["f"])])

    /// The first bytes of the entries in a region.
    private func start(_ region: UInt8) -> [UInt8] { [0xFF, 1, 2, 3, 4, region] }

    @Test func `bounds of complete entries are used as they are`() {
        let (lower, upper) = ([7, 8] as [UInt8], [9] as [UInt8])
        #expect(definition.key == [5, 1, 2, 3, 4])
        #expect(definition.entries == KeyRange(from: [0xFF, 1, 2, 3, 4], to: [0xFF, 1, 2, 3, 5]))
        #expect(
            definition.incompleteEntries == KeyRange(from: start(1), to: [0xFF, 1, 2, 3, 5]))
        #expect(
            definition.entries(in: .complete) == KeyRange(from: start(0), to: start(1)))
        #expect(
            definition.entries(in: .complete, from: lower, to: upper)
                == KeyRange(from: start(0) + lower, to: start(0) + upper))
        #expect(
            definition.entries(in: .complete, from: lower)
                == KeyRange(from: start(0) + lower, to: start(1)))
        #expect(
            definition.entries(in: .complete, to: upper)
                == KeyRange(from: start(0), to: start(0) + upper))
        #expect(
            definition.entries(in: .idOnly, from: lower, to: upper)
                == KeyRange(from: start(2), to: start(3)))
    }

    @Test func `bounds of truncated entries are cut to 256 bytes`() {
        let cut = [UInt8](repeating: 5, count: 256)
        let next = [UInt8](repeating: 5, count: 255) + [6]
        #expect(
            definition.entries(in: .truncated) == KeyRange(from: start(1), to: start(2)))
        #expect(
            definition.entries(in: .truncated, from: cut + [9])
                == KeyRange(from: start(1) + cut, to: start(2)))
        #expect(
            definition.entries(in: .truncated, from: [1], to: cut)
                == KeyRange(from: start(1) + [1], to: start(1) + cut))
        // An entry before the longer bound may have the same first 256 bytes.
        #expect(
            definition.entries(in: .truncated, from: cut + [1], to: cut + [9])
                == KeyRange(from: start(1) + cut, to: start(1) + next))
    }

    @Test func `an entry is truncated if it would be longer than 1032 bytes`() throws {
        let id = try DocumentID.key(of: 1)
        func key(_ length: Int, id: [UInt8]) -> [UInt8] {
            let text = Value.string(String(repeating: "x", count: length))
            return IndexEntry.key(of: definition, [text], id: id)
        }
        // The bytes besides the letters are the same for all lengths.
        let rest = key(100, id: id).count - 100
        #expect(key(1_032 - rest, id: id).count == 1_032)
        #expect(key(1_032 - rest, id: id).starts(with: start(0)))
        let truncated = key(1_033 - rest, id: id)
        #expect(truncated.starts(with: start(1)))
        #expect(truncated.count == 6 + 256 + id.count)
        #expect(truncated.suffix(id.count) == id[...])
        // Up to an id of 770 bytes, the first 256 bytes of the value fit before it.
        let long = [UInt8](repeating: 64, count: 770)
        #expect(key(1_000, id: long).starts(with: start(1)))
        #expect(key(1_000, id: long).count == 1_032)
        let longer = [UInt8](repeating: 64, count: 771)
        #expect(key(1_000, id: longer) == start(2) + longer)
        // A shorter value that does not fit is not stored in part.
        let longest = [UInt8](repeating: 64, count: 1_000)
        #expect(key(100, id: longest) == start(2) + longest)
    }
}
