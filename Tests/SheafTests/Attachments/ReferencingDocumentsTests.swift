import Sheaf
import SheafDocument
import SheafEngine
import SheafReplication
import SheafStorage
import SheafTestSupport
import Testing

/// The documents that reference requested attachments, compared with scans of all documents.
@Suite struct ReferencingDocumentsTests {
    private static let ids = (0..<6 as Range<UInt8>).map {
        AttachmentID(bytes: [UInt8](repeating: $0 + 1, count: 32))
    }.compactMap { $0 }

    private func token(_ id: AttachmentID) -> Value {
        ["id": .string(id.description), "len": 12, "metadata": [:]]
    }

    private func change(_ random: inout SeededRandom) -> DocumentChange {
        let id = Value.integer(Int64(random.below(12)))
        let path = [["photo", "sound"][random.below(2)]]
        switch random.below(8) {
        case 0: return DocumentChange("cars", id, .delete)
        case 1: return DocumentChange("cars", id, .evict)
        case 2:
            // The later changes of a long document are stored without its tokens.
            let text = String(repeating: "t", count: 2_000)
            return DocumentChange(
                "cars", id, .insert(["n": 1, "text": .string(text)], onConflict: .merge))
        case 3: return DocumentChange("cars", id, .edit([.unset(path: path)]))
        case 4, 5:
            let value = Value.integer(Int64(random.below(9)))
            return DocumentChange("cars", id, .edit([.set(path: ["n"], to: value)]))
        default:
            let token = token(Self.ids[random.below(Self.ids.count)])
            return DocumentChange(
                "cars", id, .edit([.set(path: path, to: token, as: .attachment)]))
        }
    }

    /// The documents that reference each attachment.
    private func scan(
        _ snapshot: DocumentSnapshot, _ ids: Set<AttachmentID>? = nil
    ) throws -> [AttachmentID: Set<[UInt8]>] {
        var found: [AttachmentID: Set<[UInt8]>] = [:]
        try snapshot.forEachReferencing(ids) { key, _, ids in
            for id in ids { found[id, default: []].insert(key) }
            return true
        }
        return found
    }

    private func position(_ key: [UInt8], _ snapshot: DocumentSnapshot) -> LogPosition? {
        key.span.withUnsafeBytes { snapshot.log.recordPointer(of: $0) }?.position
    }

    @Test(arguments: 1...40 as ClosedRange<UInt64>)
    func `random commits leave no document unknown and no change unnoticed`(seed: UInt64) throws {
        let simulation = try IndexSimulation(seed: seed, FakeClock())
        var random = SeededRandom(seed: seed, "referencing documents")
        var references = ReferencingDocuments()
        var known: Set<AttachmentID> = []
        var last = simulation.engine.snapshot()
        for _ in 0..<60 {
            for _ in 0...random.below(3) { try simulation.commit([change(&random)]) }
            try simulation.store.flush()
            let snapshot = simulation.engine.snapshot()
            references.advance(to: snapshot)
            let changes = references.takeChanges()
            for (id, keys) in try scan(snapshot) where references.covers(id) {
                #expect(keys.isSubset(of: references.keys(referencing: id)), "seed \(seed)")
                guard case .some(let changed) = changes, !changed.contains(id) else { continue }
                for key in keys {
                    #expect(position(key, snapshot) == position(key, last), "seed \(seed)")
                }
            }
            #expect(known.allSatisfy(references.covers) || changes == .all, "seed \(seed)")
            if random.chance(1, in: 6) {
                known = Set(Self.ids.filter { _ in random.chance(1, in: 2) })
                references.scan(for: known, in: snapshot)
                #expect(references.takeChanges() != .all, "seed \(seed)")
            }
            last = snapshot
        }
    }

    @Test func `an attachment of many documents is found by scans, and others are not`() throws {
        let simulation = try IndexSimulation(seed: 1, FakeClock())
        let (common, rare) = (Self.ids[0], Self.ids[1])
        var references = ReferencingDocuments()
        references.scan(for: [common, rare], in: simulation.engine.snapshot())
        // The later changes of a long document are stored without its tokens.
        let text = Value.string(String(repeating: "t", count: 2_000))
        for number in 0...ReferencingDocuments.maximumDocuments {
            #expect(references.common == [])
            let id = Value.integer(Int64(number))
            let edits: [Edit] = [common, rare].prefix(number == 7 ? 2 : 1).enumerated().map {
                .set(path: ["f\($0)"], to: token($1), as: .attachment)
            }
            try simulation.commit([
                DocumentChange("cars", id, .insert(["n": 1, "text": text], onConflict: .merge)),
                DocumentChange("cars", id, .edit(edits)),
            ])
            try simulation.store.flush()
            references.advance(to: simulation.engine.snapshot())
        }
        #expect(references.common == [common])
        let kept = references.keys(referencing: common)
        #expect(kept.count == ReferencingDocuments.maximumDocuments)
        #expect(references.keys(referencing: rare).count == 1)
        // A document that is not kept has changed, and another one has no attachment.
        _ = references.takeChanges()
        for (number, expected) in [(256, [common]), (300, [])] {
            let id = Value.integer(Int64(number))
            try simulation.commit([
                DocumentChange("cars", id, .insert(["n": 2], onConflict: .merge))
            ])
            try simulation.store.flush()
            references.advance(to: simulation.engine.snapshot())
            #expect(references.takeChanges() == .some(Set(expected)))
        }
        references.reset(at: 1_000)
        #expect(!references.covers(common))
        #expect(references.takeChanges() == .all)
    }
}
