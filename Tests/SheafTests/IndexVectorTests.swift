import Sheaf
import SheafBytes
import SheafDocument
import SheafEngine
import SheafQuery
import SheafStorage
import SheafTestSupport
import Testing

/// The vectors of `format-spec/indexes.md`, and of index definitions in `commits.md`.
@Suite struct IndexVectorTests {
    private func definition(_ directions: String) -> IndexDefinition {
        IndexDefinition(
            collection: 258, number: 5, name: "i",
            fields: directions.enumerated().map { index, direction in
                IndexDefinition.Field(["f\(index)"], isDescending: direction == "d")
            })
    }

    @Test func `index entries match the vectors and can be decoded`() throws {
        let vectors = try FormatVectors("indexes.txt")
        var regions: Set<IndexEntry.Region> = []
        let cases = vectors.cases.filter { vectors.has("\($0).entry") }
        for name in cases {
            let definition = definition(try vectors.text("\(name).directions"))
            guard case .array(let given) = try Value(jsonBytes: vectors.bytes("\(name).json"))
            else {
                Issue.record("\(name) has no array")
                continue
            }
            let values = definition.fields.indices.map { $0 < given.count ? given[$0] : nil }
            let id = try Value(jsonBytes: vectors.bytes("\(name).id"))
            let bytes = try vectors.bytes("\(name).entry")
            let made = IndexEntry.key(of: definition, values, id: try DocumentID.key(of: id))
            #expect(made == bytes, "\(name)")
            let entry = try bytes.withUnsafeBytes { try IndexEntry($0, of: definition) }
            #expect(entry.id == id, "\(name)")
            let isComplete = entry.region == .complete
            #expect(entry.values.map { $0?.json } == (isComplete ? values.map { $0?.json } : []))
            regions.insert(entry.region)
            #expect(definition.entries.contains(bytes) && IndexChanges.all.contains(bytes))
            #expect(definition.incompleteEntries.contains(bytes) == !isComplete, "\(name)")
            for length in 0..<9 {
                #expect(throws: Malformed.self, "\(name)") {
                    try bytes.prefix(length).withUnsafeBytes {
                        try IndexEntry($0, of: definition)
                    }
                }
            }
        }
        #expect(cases.count == 22 && regions.count == 3)
    }

    @Test func `index entries of tombstones match the vectors`() throws {
        let vectors = try FormatVectors("indexes.txt")
        let simulation = try IndexSimulation(seed: 9, FakeClock())
        // There are 258 collections, so that the next one has the number 258.
        try simulation.commit(
            (0..<258).map { DocumentChange("c\($0)", 0, .insert([:], onConflict: .fail)) })
        var count = 0
        for name in vectors.cases where vectors.has("\(name).tombstone") {
            let id = try Value(jsonBytes: vectors.bytes("\(name).id"))
            try simulation.commit([DocumentChange("named", id, .insert([:], onConflict: .fail))])
            try simulation.commit([DocumentChange("named", id, .delete)])
            try simulation.store.flush()
            let snapshot = simulation.engine.snapshot()
            var found: [[UInt8]] = []
            try snapshot.forEachEntry(in: IndexChanges.all) { entry, pointer in
                found.append(Array(entry))
                let key = try #require(try snapshot.key(collection: "named", id: id))
                #expect(
                    key.withUnsafeBytes { snapshot.log.recordPointer(of: $0) } == pointer, "\(name)"
                )
                return true
            }
            #expect(found == [try vectors.bytes("\(name).tombstone")], "\(name)")
            #expect(snapshot.tombstones(of: "named").map(snapshot.count(in:)) == 1)
            #expect(snapshot.tombstones(of: "c257").map(snapshot.count(in:)) == 0)
            try simulation.commit([DocumentChange("named", id, .purge)])
            count += 1
        }
        #expect(count == 3)
    }

    @Test func `damaged entries and definitions are refused or decode to different ones`() throws {
        let vectors = try FormatVectors("indexes.txt")
        for name in vectors.cases where vectors.has("\(name).entry") {
            let definition = definition(try vectors.text("\(name).directions"))
            let right = try vectors.bytes("\(name).entry")
            for bit in 0..<min(right.count, 64) * 8 {
                var bytes = right
                bytes[bit / 8] ^= 1 << UInt8(bit % 8)
                guard
                    let entry = try? bytes.withUnsafeBytes({ try IndexEntry($0, of: definition) }),
                    entry.region == .complete, let id = try? DocumentID.key(of: entry.id)
                else { continue }
                #expect(IndexEntry.key(of: definition, entry.values, id: id) == bytes, "\(name)")
            }
        }
        let definitions = try FormatVectors("commits.txt")
        for name in definitions.cases where definitions.has("\(name).index") {
            let right = try definitions.bytes("\(name).index")
            for bit in 0..<min(right.count, 64) * 8 {
                var bytes = right
                bytes[bit / 8] ^= 1 << UInt8(bit % 8)
                let found = try? bytes.withUnsafeBytes {
                    try IndexDefinition(collection: 1, number: 2, decoding: $0)
                }
                if let found { #expect(found.payload == bytes, "\(name), bit \(bit)") }
            }
        }
    }

    @Test func `index definitions match the vectors, and malformed ones are refused`() throws {
        let vectors = try FormatVectors("commits.txt")
        var counts = (right: 0, refused: 0)
        for name in vectors.cases where name.hasPrefix("index-") {
            func read(_ field: String) throws -> IndexDefinition {
                try vectors.bytes("\(name).\(field)").withUnsafeBytes {
                    try IndexDefinition(collection: 1, number: 2, decoding: $0)
                }
            }
            guard vectors.has("\(name).index") else {
                #expect(throws: Malformed.self, "\(name)") { try read("refused") }
                counts.refused += 1
                continue
            }
            counts.right += 1
            let found = try read("index")
            #expect(Array(found.name.utf8) == (try vectors.bytes("\(name).name")), "\(name)")
            let fields = found.fields.map { field -> Value in
                ["path": .array(field.path.map { .string($0) }), "desc": .bool(field.isDescending)]
            }
            #expect(Value.array(fields) == (try Value(jsonBytes: vectors.bytes("\(name).json"))))
            #expect(found.payload == (try vectors.bytes("\(name).index")), "\(name)")
            for length in 0..<found.payload.count {
                #expect(throws: Malformed.self, "\(name)") {
                    try found.payload.prefix(length).withUnsafeBytes {
                        try IndexDefinition(collection: 1, number: 2, decoding: $0)
                    }
                }
            }
        }
        #expect(counts == (3, 13))
        let key = StoreKey.index(collection: 258, number: 7)
        let bytes = try vectors.bytes("key-index.key")
        #expect(key.bytes == bytes && bytes.withUnsafeBytes { StoreKey($0) } == key)
        // This number is reserved for the index entries of tombstones.
        let none = StoreKey.index(collection: 258, number: .max).bytes
        #expect(none.withUnsafeBytes { StoreKey($0) } == nil)
    }
}
