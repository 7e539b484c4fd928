import Sheaf
import SheafAttachments
import SheafDocument
import SheafEngine
import SheafStorage
import SheafTestSupport
import Testing

/// The files that documents reference, compared with a scan of all dots.
@Suite struct AttachmentReferenceTests {
    private static let ids = (0..<8 as Range<UInt8>).map {
        AttachmentID(bytes: [UInt8](repeating: $0, count: 32))
    }.compactMap { $0 }
    private static let paths: [[String]] = [
        ["a"], ["b"], ["a", "x"], ["a", "y"], ["a", "x", "q"], ["b", "x"], ["caf\u{E9}"],
    ]

    private static func token(_ random: inout SeededRandom) -> Value {
        let id = ids[random.below(ids.count)]
        switch random.below(8) {
        case 0: return 1
        case 1: return ["id": .string(id.description + "0"), "len": 1]
        case 2: return ["id": .string(id.description)]
        case 3: return [["id": .string(id.description), "len": 1]]
        default: return ["id": .string(id.description), "len": 12, "metadata": ["a": "b"]]
        }
    }

    private static func edit(_ random: inout SeededRandom) -> Edit {
        let path = paths[random.below(paths.count)]
        switch random.below(9) {
        case 0: return .set(path: path, to: token(&random))
        case 1: return .set(path: path, to: token(&random), as: .register)
        case 2, 3, 4: return .set(path: path, to: token(&random), as: .attachment)
        case 5: return .increment(path: path, by: .integer(1))
        case 6: return .unset(path: path)
        case 7: return .unset(path: path, parts: PartSet(rawValue: UInt8(random.below(32))))
        default: return .set(path: path, to: ["x": 1, "y": ["q": "s"]])
        }
    }

    private static func change(_ random: inout SeededRandom) -> DocumentChange {
        let id = Value.integer(Int64(random.below(5)))
        let collection = ["cars", "people"][random.below(2)]
        switch random.below(12) {
        case 0: return DocumentChange(collection, id, .delete)
        case 1: return DocumentChange(collection, id, .evict)
        case 2, 3:
            return DocumentChange(collection, id, .insert(["a": 1], onConflict: .merge))
        case 4: return DocumentChange(collection, id, .insertInitial(["a": ["x": 2], "c": 3]))
        default:
            return DocumentChange(
                collection, id, .edit((0...random.below(2)).map { _ in edit(&random) }))
        }
    }

    /// Merges all documents of another store.
    private static func join(_ other: IndexSimulation, into simulation: IndexSimulation) throws {
        try other.store.flush()
        let snapshot = other.engine.snapshot()
        for collection in ["cars", "people"] {
            for id in 0..<5 as Range<Int64> {
                guard let key = try snapshot.key(collection: collection, id: .integer(id)),
                    let document = try snapshot.document(key)
                else { continue }
                let bytes = try document.read {
                    try EncodedDocument($0).renamed(from: snapshot.names, to: NameTable())
                }
                try simulation.commit([DocumentChange(collection, .integer(id), .join(bytes))])
            }
        }
    }

    /// Returns the attachments in the fields `id` of all objects in a value.
    private static func named(in value: Value) -> [AttachmentID] {
        switch value {
        case .array(let values): values.flatMap { named(in: $0) }
        case .object(let object):
            object.flatMap { field -> [AttachmentID] in
                guard field.name == "id", case .string(let text) = field.value else {
                    return named(in: field.value)
                }
                return [AttachmentID(text)].compactMap { $0 }
            }
        default: []
        }
    }

    private static func documents(
        of snapshot: DocumentSnapshot
    ) throws -> [(key: [UInt8], StoredDocument)] {
        var found: [(key: [UInt8], StoredDocument)] = []
        for collection in ["cars", "people"] {
            for id in 0..<5 as Range<Int64> {
                guard let key = try snapshot.key(collection: collection, id: .integer(id)),
                    let document = try snapshot.document(key)
                else { continue }
                found.append((key, document))
            }
        }
        return found
    }

    /// Returns the attachments referenced by any dot of any document.
    private static func named(in snapshot: DocumentSnapshot) throws -> Set<AttachmentID> {
        var found = Set<AttachmentID>()
        for (_, document) in try documents(of: snapshot) {
            try document.read {
                try DotWalk.visit(try EncodedDocument($0), snapshot.names) { item in
                    guard let value = item.value else { return }
                    found.formUnion(named(in: value))
                    guard item.path.last == "id", case .value = item.kind,
                        case .string(let text) = value
                    else { return }
                    if let id = AttachmentID(text) { found.insert(id) }
                }
            }
        }
        return found
    }

    /// Returns the attachments referenced by the tokens of a document.
    private static func tokens(
        in document: StoredDocument, _ names: NameTable
    ) throws -> Set<AttachmentID> {
        var found = Set<AttachmentID>()
        try document.read {
            try DotWalk.visit(try EncodedDocument($0), names) { item in
                guard case .token = item.kind, let value = item.value else { return }
                if let id = AttachmentToken.id(of: value) { found.insert(id) }
            }
        }
        return found
    }

    @Test(arguments: UInt64(70)..<78)
    func `references in visible and hidden dots are found`(_ seed: UInt64) throws {
        var random = SeededRandom(seed: seed, "naming")
        let clock = FakeClock()
        let simulations = try [
            IndexSimulation(seed: seed, clock), IndexSimulation(seed: seed + 1_000, clock),
        ]
        var sizes = Set<Int>()
        for step in 0..<150 {
            clock.advance(milliseconds: UInt64(random.below(3)))
            let simulation = simulations[random.below(2)]
            if random.chance(1, in: 12) {
                try Self.join(
                    simulation === simulations[0] ? simulations[1] : simulations[0],
                    into: simulation)
            } else {
                try simulation.commit((0...random.below(3)).map { _ in Self.change(&random) })
            }
            if random.chance(1, in: 20) {
                try simulation.store.flush()
                simulation.store.compactEverything()
                while try simulation.store.compactionStep() {}
            }
            try simulation.store.flush()
            let snapshot = simulation.engine.snapshot()
            let expected = try Self.named(in: snapshot)
            let found = try snapshot.referencedAttachments(among: Set(Self.ids))
            #expect(found == expected, "seed \(seed), step \(step)")
            let some = Set(Self.ids.filter { _ in random.chance(1, in: 2) })
            let foundSome = try snapshot.referencedAttachments(among: some)
            #expect(foundSome == expected.intersection(some), "seed \(seed), step \(step)")
            for (key, document) in try Self.documents(of: snapshot) {
                let tokens = try Self.tokens(in: document, snapshot.names)
                let found = try snapshot.attachments(referencedBy: key)
                #expect(found == tokens, "seed \(seed), step \(step)")
            }
            sizes.insert(expected.count)
        }
        #expect(sizes.count > 2, "seed \(seed): \(sizes)")
    }

    @Test func `an unreadable document keeps all files`() throws {
        let simulation = try IndexSimulation(seed: 3, FakeClock())
        let token: Value = ["id": .string(Self.ids[0].description), "len": 1]
        try simulation.commit([
            DocumentChange("cars", 1, .insert(["a": 1])),
            DocumentChange("cars", 1, .edit([.set(path: ["t"], to: token, as: .attachment)])),
            DocumentChange("cars", 2, .insert(["b": 1])),
        ])
        try simulation.store.flush()
        let snapshot = simulation.engine.snapshot()
        let key = try #require(try snapshot.key(collection: "cars", id: 2))
        var batch = WriteBatch()
        try batch.put(key, [1, 0, 4, 0, 0xFF])
        _ = try simulation.store.append(batch)
        try simulation.store.flush()
        let damaged = simulation.engine.snapshot()
        #expect(throws: EngineError.self) {
            try damaged.referencedAttachments(among: Set(Self.ids))
        }
        let store = AttachmentStore(SimulatedVolume())
        let id = try store.add([1])
        #expect(throws: EngineError.self) {
            try store.collect(graceMilliseconds: 0) { try damaged.referencedAttachments(among: $0) }
        }
        #expect(try store.ids == [id])
    }
}
