import Sheaf
import SheafBytes
import SheafDocument
import SheafEngine
import SheafStorage
import SheafTestSupport
import Synchronization
import Testing

/// Commits of the document engine.
@Suite struct DocumentEngineTests {
    private let clock = FakeClock()
    private let store: StoreEngine
    private let engine: DocumentEngine

    init() throws {
        (store, engine) = try DocumentEngine.inMemory(clock)
    }

    @discardableResult
    private func commit(_ changes: DocumentChange...) throws(EngineError) -> DocumentReceipt {
        try engine.commit(changes) { batch throws(StorageError) in try store.append(batch) }
    }

    private func insert(
        _ id: Value, _ object: Object, onConflict: DocumentChange.Conflict = .fail
    ) -> DocumentChange {
        DocumentChange("cars", id, .insert(object, onConflict: onConflict))
    }

    private func value(_ id: Value) throws -> Value? {
        try store.flush()
        let snapshot = engine.snapshot()
        guard let key = try snapshot.key(collection: "cars", id: id) else { return nil }
        return try snapshot.document(key)?.read { bytes in
            try EncodedDocument(bytes).value(snapshot.names).map(Value.object)
        }
    }

    @Test func `a change sees all earlier changes, durable or not`() throws {
        try commit(insert("a", ["x": 1]))
        try commit(DocumentChange("cars", "a", .edit([.set(path: ["y"], to: 2)])))
        try commit(
            DocumentChange("cars", "a", .edit([.set(path: ["x"], to: 3)])),
            DocumentChange("cars", "a", .edit([.set(path: ["x"], to: 2)])),
            DocumentChange("cars", "a", .edit([.increment(path: ["n"], by: .integer(5))])),
            DocumentChange("cars", "a", .edit([.increment(path: ["n"], by: .integer(-7))])))
        #expect(try value("a") == ["x": 2, "y": 2, "n": -2])
        #expect(store.snapshot().commit == 3)
    }

    @Test func `pending documents are released once their commits are durable`() throws {
        for number in 0..<20 as Range<Int64> { try commit(insert(.integer(number), ["x": 1])) }
        // Some are changed again, and are pending in another form.
        try commit(DocumentChange("cars", .integer(1), .edit([.set(path: ["x"], to: 3)])))
        let before = engine.state.withLock { $0.pending.isEmpty }
        try store.flush()
        let after = engine.state.withLock { $0.pending.isEmpty }
        #expect(!before && after)
        #expect(try value(.integer(1)) == ["x": 3])
    }

    @Test func `a deleted or evicted document can be inserted again in the same commit`() throws {
        try commit(insert("a", ["x": 1, "z": 1]), insert("b", ["x": 1, "z": 1]))
        try commit(
            DocumentChange("cars", "a", .delete), insert("a", ["y": 2]),
            DocumentChange("cars", "b", .evict), insert("b", ["y": 2]))
        #expect(try value("a") == ["y": 2])
        #expect(try value("b") == ["y": 2])
        try commit(
            DocumentChange("cars", "a", .delete), DocumentChange("cars", "b", .evict),
            DocumentChange("cars", "b", .evict))
        #expect(try value("a") == nil)
        #expect(try value("b") == nil)
    }

    @Test func `a commit with a failing change changes nothing`() throws {
        try commit(insert("a", ["x": 1]))
        #expect(throws: EngineError.exists(collection: "cars", id: "a")) {
            try commit(insert("b", ["x": 1]), insert("a", ["x": 2]))
        }
        #expect(try value("b") == nil)
        #expect(store.snapshot().commit == 1)
        try commit(insert("c", ["x": 1]))
        #expect(try value("c") == ["x": 1])
    }

    @Test func `an insertion conflict is resolved as requested`() throws {
        try commit(insert("a", ["x": 1, "y": 1]))
        let nothing = try commit(insert("a", ["x": 2], onConflict: .doNothing))
        #expect(!nothing.outcomes[0].isChanged && nothing.commit == 1)
        let same = try commit(insert("a", ["x": 1], onConflict: .mergeDifferences))
        #expect(!same.outcomes[0].isChanged && same.commit == 1)
        let merged = try commit(insert("a", ["x": 1], onConflict: .merge))
        #expect(merged.outcomes[0].isChanged && merged.commit == 2)
        try commit(insert("a", ["x": 1.0, "z": 3], onConflict: .mergeDifferences))
        #expect(try value("a") == ["x": 1.0, "y": 1, "z": 3])
        let seeds = try commit(
            DocumentChange("cars", "a", .insertInitial(["x": 9])),
            DocumentChange("cars", "s", .insertInitial(["x": 9])))
        #expect(seeds.outcomes.map(\.isChanged) == [false, true])
        #expect(try value("s") == ["x": 9])
    }

    @Test func `an invalid change is refused with its reason`() throws {
        try commit(insert("a", ["x": 1]))
        for (id, refusal) in [
            (1.5, InvalidID.float), (.null, .null), ([1, [2.0]], .float),
        ] as [(Value, InvalidID)] {
            #expect(throws: EngineError.document(.id(refusal))) { try commit(insert(id, [:])) }
        }
        #expect(throws: EngineError.self) {
            try commit(insert(.string(String(repeating: "x", count: 2_000)), [:]))
        }
        #expect(throws: EngineError.invalidCollection("")) {
            try commit(DocumentChange("", 1, .insert([:])))
        }
        var deep: Value = 1
        for _ in 0..<64 { deep = ["x": deep] }
        #expect(throws: EngineError.document(.tooDeep(limit: 64))) {
            try commit(insert("b", ["x": deep]))
        }
        #expect(throws: EngineError.document(.tooDeep(limit: 64))) {
            try commit(DocumentChange("cars", "a", .edit([.set(path: ["x"], to: deep)])))
        }
        #expect(throws: EngineError.document(.emptyPath)) {
            try commit(DocumentChange("cars", "a", .edit([.unset(path: [])])))
        }
        let large = Value.bytes([UInt8](repeating: 0, count: EncodedDocument.maximumLength))
        do {
            try commit(insert("c", ["x": large]))
            Issue.record("A document beyond the length limit was accepted.")
        } catch EngineError.limit(let name, _, let limit) {
            #expect(name == "maximumDocumentLength" && limit == EncodedDocument.maximumLength)
        }
        #expect(store.snapshot().commit == 0)
    }

    @Test func `a received document is validated before it is merged`() throws {
        let future = Stamp(
            HybridTime(milliseconds: 1_780_000_000_000 + 301_000), Site(rawValue: 5))
        let early = try Insertion.document(["x": 1], at: future, NameTable())
        do {
            try commit(DocumentChange("cars", "a", .join(early)))
            Issue.record("A stamp far ahead of the clock was accepted.")
        } catch EngineError.document(.time(let refusal)) {
            #expect(refusal == .ahead(milliseconds: 301_000, limit: 300_000))
        }
        let stamp = Stamp(HybridTime(milliseconds: 1_780_000_000_000), Site(rawValue: 5))
        let right = try Insertion.document(["x": 1], at: stamp, NameTable())
        for length in 0..<right.count {
            #expect(throws: EngineError.self) {
                try commit(DocumentChange("cars", "a", .join(Array(right.prefix(length)))))
            }
        }
        let delta = try right.withUnsafeBytes { bytes in
            let editor = try DocumentEditor(
                EncodedDocument(bytes),
                at: Stamp(HybridTime(rawValue: stamp.time.rawValue + 1), Site(rawValue: 5)),
                NameTable())
            try editor.apply(.set(path: ["y"], to: 2))
            return try #require(try editor.finish())
        }
        #expect(throws: EngineError.gap(collection: "cars", id: "a")) {
            try commit(DocumentChange("cars", "a", .join(delta)))
        }
        #expect(try commit(DocumentChange("cars", "a", .join(right))).outcomes[0].isChanged)
        #expect(try commit(DocumentChange("cars", "a", .join(delta))).outcomes[0].isChanged)
        #expect(try !commit(DocumentChange("cars", "a", .join(delta))).outcomes[0].isChanged)
        #expect(try value("a") == ["x": 1, "y": 2])
    }

    @Test func `a name gets a number when it is used again, and keeps it`() throws {
        for number in 0..<5 {
            try commit(insert(.integer(Int64(number)), ["color": 1, "only\(number)": 2]))
        }
        try store.flush()
        let names = engine.snapshot().names
        #expect((0..<names.count).map { names.name($0) } == ["color"])
        let again = DocumentSnapshot(store.snapshot(), try Catalog(store.snapshot()))
        #expect(again.names.count <= 1)
        try commit(insert(9, ["color": 7, "x": 1]))
        #expect(try value(9) == ["color": 7, "x": 1])
        #expect(try Catalog(store.snapshot()).names.name(0) == "color")
    }

    @Test func `a known state changes nothing after its names got numbers`() throws {
        let stamp = Stamp(HybridTime(milliseconds: 1_780_000_000_000), Site(rawValue: 5))
        let state = try Insertion.document(["m": ["color": 1], "x": 1], at: stamp, NameTable())
        let delta = try state.withUnsafeBytes { bytes in
            let editor = try DocumentEditor(
                EncodedDocument(bytes),
                at: Stamp(HybridTime(rawValue: stamp.time.rawValue + 1), Site(rawValue: 5)),
                NameTable())
            try editor.apply(.set(path: ["x"], to: 2))
            return try #require(try editor.finish())
        }
        try commit(DocumentChange("cars", "a", .join(state)))
        try commit(DocumentChange("cars", "a", .join(delta)))
        for id in [1, 2, 3] as [Value] { try commit(insert(id, ["color": 1])) }
        try store.flush()
        #expect(engine.snapshot().names.number(of: Array("color".utf8)) != nil)
        #expect(try !commit(DocumentChange("cars", "a", .join(delta))).outcomes[0].isChanged)
        #expect(try !commit(DocumentChange("cars", "a", .join(state))).outcomes[0].isChanged)
    }

    private func isRefused(_ change: DocumentChange) throws -> Bool {
        do {
            try commit(change)
            return false
        } catch EngineError.limit(let name, _, _) {
            #expect(name == "maximumDocumentLength")
            return true
        }
    }

    @Test func `an edit near the length limit leaves a valid document`() throws {
        let length = EncodedDocument.maximumLength - 60
        try commit(
            insert("a", ["s": 1, "x": .bytes([UInt8](repeating: 7, count: length))]))
        var refusals = 0
        for slack in [4, 8, 64] {
            let bytes = Value.bytes([UInt8](repeating: 8, count: length + slack))
            let change = DocumentChange(
                "cars", "a", .edit([.unset(path: ["s"]), .set(path: ["x"], to: bytes)]))
            if try isRefused(change) { refusals += 1 }
            try store.flush()
            let snapshot = engine.snapshot()
            let verified = try #require(try DocumentVerifier.verify(snapshot.log))
            #expect(verified.findings == [] && verified.documentCount == 1)
        }
        #expect((1...2).contains(refusals))
    }

    @Test func `an id may be nested up to the maximum depth`() throws {
        var id: Value = 1
        for _ in 0..<Value.maximumDepth { id = [id] }
        try commit(insert(id, ["x": 1]))
        #expect(try value(id) == ["x": 1])
        let key = try DocumentID.key(of: id)
        #expect(try DocumentID.id(of: key) == id)
        for deeper in [[id], ["x": id]] as [Value] {
            #expect(throws: EngineError.document(.id(.tooDeep(limit: 64)))) {
                try commit(insert(deeper, ["x": 1]))
            }
        }
    }

    @Test(arguments: [0, 3_000])
    func `overrides of parts outside a delta are logged and replicated`(
        _ length: Int
    ) throws {
        let seeds: Object = ["big": .string(String(repeating: "b", count: length)), "x": ["a": 1]]
        try commit(DocumentChange("cars", "a", .insertInitial(seeds)))
        // The delta sets a register at x with a new stamp and removes the seeds of the map.
        let seed = Insertion.initialStamp(seeds)
        let time = HybridTime(milliseconds: 1_780_000_000_000)
        let sites = [seed, Stamp(time, Site(rawValue: 5))].sorted { $0.site < $1.site }
        let own: UInt8 = sites[0].site == seed.site ? 1 : 0
        var delta = ByteWriter(capacity: 80)
        delta.write([3, 46, 2])
        for stamp in sites {
            delta.write(stamp.site.rawValue)
            delta.write(stamp.time.rawValue)
        }
        delta.write([1, own, 0] + [UInt8](repeating: 0, count: 8))
        delta.write([15, 1, 0x78, 20, 2, 0x81, own, 2, 21, 4, 9, 1, 0, 0x68])
        try commit(DocumentChange("cars", "a", .join(delta.bytes)))
        try store.flush()
        let snapshot = engine.snapshot()
        let key = try #require(try snapshot.key(collection: "cars", id: "a"))
        func seedsOfMap(_ bytes: UnsafeRawBufferPointer) throws -> Value? {
            try EncodedDocument(bytes).entry(at: ["x"], snapshot.names)?
                .value(as: .map, snapshot.names)
        }
        #expect(try snapshot.document(key)?.read(seedsOfMap) == nil)
        guard case .delta(let change) = try snapshot.changes(of: key, since: 1) else {
            Issue.record("The changes since commit 1 are not a delta.")
            return
        }
        let other = try Insertion.initial(seeds, NameTable())
        let joined = try other.withUnsafeBytes { other in
            try change.withUnsafeBytes { change in
                try Join.join(EncodedDocument(other), EncodedDocument(change))
            }
        }
        #expect(try joined.withUnsafeBytes(seedsOfMap) == nil)
        #expect(
            try !commit(DocumentChange("cars", "a", .join(delta.bytes))).outcomes[0].isChanged)
    }

    @Test func `a store has one engine at a time`() throws {
        #expect(throws: EngineError.inUse) { try DocumentEngine(store) }
        let other = try StoreEngine(opening: SimulatedVolume(seed: 2), options: LogStoreOptions())
        do { _ = try DocumentEngine(other) }
        _ = try DocumentEngine(other)
    }

    @Test func `the keys of a large map get no numbers`() throws {
        let map = Object((0..<300).map { ("key\($0)", .integer(Int64($0))) })
        try commit(insert("a", ["items": .object(map)]))
        for _ in 0..<3 {
            for key in 0..<10 {
                try commit(
                    DocumentChange(
                        "cars", "a", .edit([.set(path: ["items", "key\(key)"], to: 1)])))
            }
        }
        try store.flush()
        #expect(engine.snapshot().names.count <= 1)
    }

    @Test func `received bytes that are no document are not reported as damage`() throws {
        #expect(throws: EngineError.invalidDocument(.truncated(at: 0))) {
            try commit(DocumentChange("cars", "a", .join([1, 2])))
        }
    }
}
