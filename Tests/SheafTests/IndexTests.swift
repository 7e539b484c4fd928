import Sheaf
import SheafBytes
import SheafDocument
import SheafEngine
import SheafQuery
import SheafStorage
import SheafTestSupport
import Testing

/// Secondary indexes of one store.
@Suite struct IndexTests {
    private let simulation: IndexSimulation

    init() throws {
        simulation = try IndexSimulation(seed: 1, FakeClock())
    }

    private func insert(_ id: Value, _ object: Object) throws {
        try simulation.commit([DocumentChange("cars", id, .insert(object, onConflict: .merge))])
    }

    private func ids(_ name: String, reversed: Bool = false) throws -> [Value]? {
        try simulation.store.flush()
        let snapshot = simulation.engine.snapshot()
        guard let index = snapshot.indexes(of: "cars").first(where: { $0.name == name }) else {
            return nil
        }
        var found: [Value] = []
        try snapshot.forEachEntry(in: index.entries, reversed: reversed) { key, _ in
            found.append(try IndexEntry(key, of: index).id)
            return true
        }
        return found
    }

    @Test func `an index may be created before its collection or after its documents`() throws {
        #expect(try simulation.createIndex("by a", on: "cars", [.init(["a"])]).commit == 1)
        for number: Int64 in 0..<5 {
            try insert(.integer(number), ["a": .integer(-number), "b": 7])
        }
        // No document is durable when the second index is created.
        try simulation.createIndex(
            "by b", on: "cars", [.init(["b"]), .init(["a"], isDescending: true)])
        #expect(try ids("by a") == [4, 3, 2, 1, 0])
        #expect(try ids("by b") == [0, 1, 2, 3, 4])
        #expect(try ids("by b", reversed: true) == [4, 3, 2, 1, 0])
        try simulation.commit([DocumentChange("cars", 2, .edit([.unset(path: ["a"])]))])
        try simulation.commit([DocumentChange("cars", 3, .delete)])
        #expect(try ids("by a") == [4, 1, 0, 2])
        #expect(try ids("by b") == [2, 0, 1, 4])
        try simulation.check("at the end")
    }

    @Test func `numbers keep their type and are sorted by value`() throws {
        let values: [Value] = [
            .float(-0.0), 0, .float(0), .integer(1 << 53), .float(0x1p53),
            .integer(1 << 53 + 1), .integer(.max), .float(.infinity), .float(.nan), "text", .null,
        ]
        try simulation.createIndex("up", on: "cars", [.init(["a"])])
        try simulation.createIndex("down", on: "cars", [.init(["a"], isDescending: true)])
        for (number, value) in values.enumerated() {
            try insert(.integer(Int64(number)), ["a": value])
        }
        try insert(11, [:])
        #expect(try ids("up") == (0..<12).map { .integer(Int64($0)) })
        // Equal numbers are sorted by ascending id.
        #expect(try ids("down") == [11, 10, 9, 8, 7, 6, 5, 3, 4, 0, 1, 2])
        try simulation.check("with numbers")
    }

    @Test func `an invalid index is refused with its reason`() throws {
        try simulation.createIndex("i", on: "cars", [.init(["a"])])
        #expect(throws: EngineError.indexExists(collection: "cars", name: "i")) {
            try simulation.createIndex("i", on: "cars", [.init(["b"])])
        }
        #expect(
            try !simulation.createIndex("i", on: "cars", [.init(["b"])], ifNotExists: true)
                .isChanged)
        #expect(throws: EngineError.noIndex(collection: "cars", name: "j")) {
            try simulation.dropIndex("j", on: "cars")
        }
        #expect(throws: EngineError.noIndex(collection: "boats", name: "i")) {
            try simulation.dropIndex("i", on: "boats")
        }
        #expect(try !simulation.dropIndex("j", on: "cars", ifExists: true).isChanged)
        let field = IndexDefinition.Field(["a"])
        let refused: [(String, [IndexDefinition.Field])] = [
            ("", [field]), (String(repeating: "n", count: 1_025), [field]), ("x", []),
            ("x", Array(repeating: field, count: 17)), ("x", [.init([])]),
            ("x", [.init(Array(repeating: "s", count: 65))]),
            ("x", [.init([String(repeating: "s", count: 65_536)])]),
        ]
        for (name, fields) in refused {
            #expect(throws: EngineError.self) {
                try simulation.createIndex(name, on: "cars", fields)
            }
        }
        #expect(throws: EngineError.invalidCollection("")) {
            try simulation.createIndex("x", on: "", [field])
        }
        for number in 1..<64 { try simulation.createIndex("i\(number)", on: "cars", [field]) }
        let limit = EngineError.limit(name: "maximumIndexes", value: 65, limit: 64)
        #expect(throws: limit) { try simulation.createIndex("x", on: "cars", [field]) }
        try simulation.createIndex("x", on: "people", [field])
        // These names are canonically equivalent but differ in their bytes.
        try simulation.dropIndex("i7", on: "cars")
        try simulation.createIndex("caf\u{E9}", on: "people", [field])
        try simulation.createIndex("cafe\u{301}", on: "people", [field])
        try simulation.check("at the end")
    }

    @Test func `each part of a definition is accepted up to its limit, and no further`() throws {
        try insert(1, ["a": 1, "s": ["s": 1]])
        let field = IndexDefinition.Field(["a"])
        func expectLimit(
            _ limited: String, _ value: Int, _ limit: Int, _ name: String,
            _ fields: [IndexDefinition.Field]
        ) {
            #expect(throws: EngineError.limit(name: limited, value: value, limit: limit)) {
                try simulation.createIndex(name, on: "cars", fields)
            }
        }
        let name = String(repeating: "n", count: 1_024)
        try simulation.createIndex(name, on: "cars", [field])
        expectLimit("maximumIndexNameLength", 1_025, 1_024, name + "n", [field])
        let fields = (0..<16).map { IndexDefinition.Field(["f\($0)"]) }
        try simulation.createIndex("fields", on: "cars", fields)
        expectLimit("maximumIndexFields", 17, 16, "x", fields + [field])
        let path = Array(repeating: "s", count: 64)
        try simulation.createIndex("path", on: "cars", [.init(path)])
        expectLimit("maximumIndexPathLength", 65, 64, "x", [.init(path + ["s"])])
        try simulation.check("at the end")
        // The definitions are read back with the same limits.
        let catalog = try Catalog(simulation.store.snapshot())
        #expect(catalog.indexes.values.flatMap { $0 }.count == 3)
    }

    @Test func `the definition of an index has at most 65,536 bytes`() throws {
        func fields(_ length: Int) -> [IndexDefinition.Field] {
            [.init([String(repeating: "s", count: length)])]
        }
        let rest =
            IndexDefinition(collection: 0, number: 0, name: "long", fields: fields(60_000)).payload
            .count - 60_000
        try simulation.createIndex("long", on: "cars", fields(65_536 - rest))
        let limit = EngineError.limit(
            name: "maximumIndexDefinitionLength", value: 65_537, limit: 65_536)
        #expect(throws: limit) {
            try simulation.createIndex("long2", on: "cars", fields(65_536 - rest))
        }
        try simulation.store.flush()
        let catalog = try Catalog(simulation.store.snapshot())
        #expect(catalog.indexes.values.flatMap { $0 }.map(\.name) == ["long"])
    }

    @Test func `an older snapshot has the indexes of its commit`() throws {
        try insert(1, ["a": 1, "b": 2])
        try simulation.createIndex("first", on: "cars", [.init(["a"])])
        try simulation.store.flush()
        let old = simulation.engine.snapshot()
        try simulation.dropIndex("first", on: "cars")
        // The new index reuses the number of the dropped one.
        try simulation.createIndex("second", on: "cars", [.init(["b"])])
        let between = simulation.engine.snapshot()
        #expect(between.indexes(of: "cars").isEmpty)
        try simulation.store.flush()
        #expect(old.indexes(of: "cars").map(\.name) == ["first"])
        #expect(old.count(in: old.indexes(of: "cars")[0].entries) == 1)
        #expect(simulation.engine.snapshot().indexes(of: "cars").map(\.name) == ["second"])
        #expect(simulation.engine.snapshot().indexes(of: "cars")[0].number == 0)
        #expect(
            DocumentSnapshot(old.log, simulation.engine.snapshot().catalog).indexes(of: "cars")
                .isEmpty)
    }

    @Test func `a range contains the entries of all its values, truncated or not`() throws {
        try simulation.createIndex("by a", on: "cars", [.init(["a"])])
        var random = SeededRandom(seed: 5, "ranges")
        var values: [Value: String] = [:]
        for (number, id) in IndexSimulation.ids.enumerated() {
            let text = String(repeating: "x", count: 250 + random.below(8) + number % 3 * 500)
            values[id] = text + ["", "y", "\0"][random.below(3)]
            try insert(id, ["a": .string(values[id] ?? "")])
        }
        try simulation.store.flush()
        let snapshot = simulation.engine.snapshot()
        let index = snapshot.indexes(of: "cars")[0]
        for region in IndexEntry.Region.allCases {
            #expect(snapshot.count(in: index.entries(in: region)) > 0, "\(region)")
        }
        for lower in values.values {
            for upper in values.values {
                let bounds = [lower, upper].map { SortKey.identity(of: .string($0)) }
                var found: Set<Value> = []
                for region in IndexEntry.Region.allCases {
                    let range = index.entries(in: region, from: bounds[0], to: bounds[1])
                    try snapshot.forEachEntry(in: range) { key, _ in
                        found.insert(try IndexEntry(key, of: index).id)
                        return true
                    }
                }
                let expected = values.filter { id, text in
                    Value.string(text) >= .string(lower) && Value.string(text) < .string(upper)
                }
                #expect(expected.keys.allSatisfy { found.contains($0) })
            }
        }
    }

    @Test func `indexes outdated by a commit that bypasses the engine are ignored until repaired`()
        throws
    {
        try insert(1, ["a": 1])
        try simulation.createIndex("by a", on: "cars", [.init(["a"])])
        var batch = WriteBatch()
        let stamp = Stamp(HybridTime(milliseconds: 5), Site(rawValue: 9))
        let state = try Insertion.document(["a": 2], at: stamp, NameTable())
        let key = StoreKey.document(collection: 0, id: try DocumentID.key(of: 2)).bytes
        try batch.put(key, DocumentPayload.encode(state: state))
        _ = try simulation.store.append(batch)
        #expect(try ids("by a") == nil)
        try insert(3, ["a": 0])
        #expect(try ids("by a") == nil)
        // The creation of an index repairs the other indexes.
        try simulation.createIndex("by b", on: "cars", [.init(["b"])])
        #expect(try ids("by a") == [3, 1, 2])
        try simulation.check("at the end")
    }

    @Test func `wrong index entries are reported`() throws {
        try insert(1, ["a": 1])
        try insert(2, ["a": 2])
        try simulation.createIndex("by a", on: "cars", [.init(["a"])])
        try simulation.store.flush()
        let index = simulation.engine.snapshot().indexes(of: "cars")[0]
        var keys: [[UInt8]] = []
        simulation.engine.snapshot().forEachEntry(in: index.entries) { key, _ in
            keys.append(Array(key))
            return true
        }
        let other = try #require(
            StoreKey.document(collection: 0, id: SortKey.identity(of: 2)).bytes.withUnsafeBytes {
                simulation.store.snapshot().recordPointer(of: $0)
            })
        func damage(_ change: (inout IndexChanges) throws -> Void) throws -> [String] {
            var batch = WriteBatch()
            try change(&batch.indexChanges)
            batch.keepsIndexProgress = true
            try batch.put(
                StoreKey.site.bytes, SiteRecord(site: simulation.engine.site, directory: 0).bytes)
            _ = try simulation.store.append(batch)
            try simulation.store.flush()
            let verified = try DocumentVerifier.verify(simulation.store.snapshot())
            return try #require(verified).findings.map(\.reason)
        }
        #expect(try damage { _ in } == [])
        #expect(
            try damage { try $0.addEntry(keys[0], to: other) }.first?.hasPrefix(
                "an index entry points")
                == true)
        #expect(
            try damage { try $0.removeEntries(keys[0]) } == [
                "the document is missing from an index"
            ])
        #expect(
            try damage { try $0.addEntry(keys[0] + [7], to: other) } == [
                "the document is missing from an index", "an index entry matches no document",
            ])
    }
}
