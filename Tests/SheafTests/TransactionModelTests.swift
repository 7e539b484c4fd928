import Sheaf
import SheafBytes
import SheafDocument
import SheafEngine
import SheafStorage
import SheafTestSupport
import Testing

/// Tests of transactions whose statements are rolled back at random, against a table of documents.
@Suite struct TransactionModelTests {
    /// A document: its fields, or a trace of it.
    private enum Content: Equatable {
        case absent, tombstone
        case document([String: Int64])

        var fields: [String: Int64]? {
            guard case .document(let fields) = self else { return nil }
            return fields
        }
    }

    private struct Name: Hashable {
        let collection: String
        let id: Int64
    }

    /// A store, its expected documents, and those that an open transaction expects.
    private struct Scene {
        var random: SeededRandom
        let store: StoreEngine
        let engine: DocumentEngine
        var contents: [Name: Content] = [:]
        /// Number of commits.
        var count: CommitID = 0

        init(seed: UInt64) throws {
            random = SeededRandom(seed: seed, "transactions")
            var options = LogStoreOptions()
            options.clock = FakeClock().clock
            store = try StoreEngine(opening: SimulatedVolume(seed: seed), options: options)
            engine = try DocumentEngine(store)
        }

        mutating func name() -> Name {
            Name(collection: ["a", "b", "c"][random.below(3)], id: Int64(random.below(5)))
        }

        /// Returns a random change and the content after it; nil if it must be refused.
        mutating func change(of name: Name) -> (DocumentChange.Action, Content?) {
            let before = contents[name] ?? Content.absent
            let number = Int64(random.below(1_000))
            let field = ["x", "y"][random.below(2)]
            switch random.below(10) {
            case 0, 1:
                let after = before.fields == nil ? Content.document([field: number]) : nil
                return (.insert(Object([(field, Value.integer(number))])), after)
            case 2, 3:
                var fields = before.fields ?? [:]
                fields[field] = number
                return (
                    .insert(Object([(field, Value.integer(number))]), onConflict: .merge),
                    .document(fields)
                )
            case 4, 5, 6:
                guard var fields = before.fields else {
                    return (.edit([.set(path: [field], to: .integer(number))]), before)
                }
                if fields.count == 2, random.chance(1, in: 2) {
                    fields[field] = nil
                    return (.edit([.unset(path: [field])]), .document(fields))
                }
                fields[field] = number
                return (.edit([.set(path: [field], to: .integer(number))]), .document(fields))
            case 7: return (.delete, before.fields == nil ? before : Content.tombstone)
            case 8: return (.evict, Content.absent)
            default:
                let isFree = before == .absent
                return (
                    .insertInitial(Object([(field, Value.integer(number))])),
                    isFree ? Content.document([field: number]) : before
                )
            }
        }

        /// Returns the fields of a document as a transaction sees it.
        func fields(_ name: Name, in transaction: DocumentTransaction) throws -> [String: Int64]? {
            guard let number = transaction.catalog.number(ofCollection: name.collection) else {
                return nil
            }
            let id = SortKey.identity(of: .integer(name.id))
            let key = DocumentKey(StoreKey.document(collection: number, id: id).bytes)
            let document: StoredDocument?
            if let entry = transaction.pending[key] {
                document = entry.document
            } else {
                document = try DocumentSnapshot(transaction.snapshot, transaction.catalog)
                    .document(key.bytes)
            }
            return try Self.fields(document, transaction.catalog.names)
        }

        static func fields(
            _ document: StoredDocument?, _ names: NameTable
        ) throws -> [String: Int64]? {
            guard let document else { return nil }
            let value = try document.read { bytes in try EncodedDocument(bytes).value(names) }
            guard let object = value else { return nil }
            var fields: [String: Int64] = [:]
            for name in ["x", "y"] {
                if case .integer(let number)? = object[name] { fields[name] = number }
            }
            return fields
        }

        /// Expects the documents in a transaction, also those that no statement has changed.
        func check(_ transaction: DocumentTransaction, _ comment: Comment) throws {
            var wrong: [Name] = []
            for collection in ["a", "b", "c"] {
                for id in 0..<5 as Range<Int64> {
                    let name = Name(collection: collection, id: id)
                    let expected = contents[name]?.fields
                    if try fields(name, in: transaction) != expected { wrong.append(name) }
                }
            }
            #expect(wrong == [], comment)
        }

        /// Runs a statement of some changes; rolls it back if one is refused, or at random.
        mutating func runStatement(
            in transaction: inout DocumentTransaction, _ comment: Comment
        ) throws {
            let before = contents
            let (length, clock) = (transaction.changedLength, transaction.clock)
            let (stamp, collections) = (transaction.stamp, transaction.catalog.collections)
            let pending = transaction.pending.collections
            transaction.beginStatement()
            var isRefused = false
            for _ in 0...random.below(3) {
                let name = name()
                let (action, after) = change(of: name)
                let id = Value.integer(name.id)
                do throws(EngineError) {
                    _ = try transaction.apply(DocumentChange(name.collection, id, action))
                    #expect(after != nil, comment)
                    contents[name] = after
                } catch {
                    #expect(after == nil, comment)
                    #expect(error == .exists(collection: name.collection, id: id), comment)
                    isRefused = true
                    break
                }
            }
            guard isRefused || random.chance(1, in: 4) else { return }
            transaction.rollBackStatement()
            contents = before
            #expect(transaction.changedLength == length, comment)
            #expect(transaction.clock.latest == clock.latest, comment)
            #expect(transaction.clock.site == clock.site, comment)
            #expect(transaction.stamp == stamp, comment)
            #expect(transaction.catalog.collections == collections, comment)
            #expect(transaction.pending.collections == pending, comment)
        }
    }

    @Test(arguments: 0..<6 as Range<UInt64>)
    func `a transaction has the changes of the statements that were not rolled back`(
        seed: UInt64
    ) throws {
        var scene = try Scene(seed: seed)
        for round in 0..<12 {
            let comment: Comment = "seed \(seed), round \(round)"
            let before = scene.contents
            var transaction = scene.engine.begin()
            try scene.check(transaction, comment)
            for _ in 0..<scene.random.below(6) {
                try scene.runStatement(in: &transaction, comment)
                try scene.check(transaction, comment)
            }
            if scene.random.chance(1, in: 4) {
                scene.engine.rollBack(&transaction)
                scene.contents = before
            } else {
                let (hasChanges, store) = (transaction.hasChanges, scene.store)
                let written = try scene.engine.commit(&transaction) {
                    (batch) throws(StorageError) in try store.append(batch)
                }
                if hasChanges { scene.count += 1 }
                #expect(written == scene.count, comment)
            }
            if scene.random.chance(1, in: 3) { try scene.store.flush() }
        }
        try scene.store.flush()
        try scene.check(scene.engine.begin(), "seed \(seed)")
        let verified = try #require(try DocumentVerifier.verify(scene.engine.snapshot().log))
        #expect(verified.findings == [], "seed \(seed)")
    }
}
