import SheafBytes
package import SheafDocument
package import SheafDocumentModel
package import SheafEngine
package import SheafStorage
package import SheafTestSupport

/// A store of documents on a simulated disk, and a model of its contents.
package final class DocumentSimulation {
    /// The collection and id of a document.
    package struct Name: Hashable, Sendable {
        package let collection: String
        package let id: Value
    }

    package static let names = [
        Name(collection: "cars", id: "a"), Name(collection: "cars", id: ["x": 1, "y": [true]]),
        Name(collection: "people", id: 7),
    ]

    package let volume: SimulatedVolume
    package let clock: FakeClock
    package private(set) var store: StoreEngine
    package private(set) var engine: DocumentEngine
    package private(set) var models: [Name: ModelDocument] = [:]
    /// The models after each commit, by commit ID.
    package private(set) var past: [CommitID: [Name: ModelDocument]] = [0: [:]]
    package private(set) var lastCommit: CommitID = 0

    package init(seed: UInt64, clock: FakeClock) throws {
        self.clock = clock
        volume = SimulatedVolume(seed: seed)
        store = try StoreEngine(opening: volume, options: Self.options(seed, clock))
        engine = try DocumentEngine(store)
    }

    private static func options(_ seed: UInt64, _ clock: FakeClock) -> LogStoreOptions {
        var options = LogStoreOptions()
        options.segmentLength = 4_000
        options.history = HistoryHorizon(commits: 20, bytes: .max)
        options.clock = clock.clock
        let random = SeededSource(seed: seed)
        options.random = { random.next() }
        return options
    }

    /// Commits one change to the store and applies it to the model.
    @discardableResult
    package func apply(_ write: ModelWrite, to name: Name) throws -> DocumentReceipt {
        let action: DocumentChange.Action =
            switch write {
            case .edit(let edits): .edit(edits)
            case .delete: .delete
            case .insert(let object): .insert(object, onConflict: .merge)
            case .insertDifferences(let object): .insert(object, onConflict: .mergeDifferences)
            case .insertInitial(let object): .insertInitial(object)
            }
        let receipt = try commit([DocumentChange(name.collection, name.id, action)])
        if let stamp = receipt.outcomes[0].stamp {
            models[name, default: ModelDocument()].apply(write, stamp: stamp)
        }
        record(receipt)
        return receipt
    }

    /// Joins a delta or a complete state of a document from another store.
    package func join(_ bytes: [UInt8], _ name: Name, _ other: ModelDocument) throws {
        let receipt = try commit([DocumentChange(name.collection, name.id, .join(bytes))])
        if receipt.outcomes[0].isChanged {
            models[name] = (models[name] ?? ModelDocument()).joined(with: other)
        }
        record(receipt)
    }

    private func commit(_ changes: [DocumentChange]) throws -> DocumentReceipt {
        try engine.commit(changes) { batch throws(StorageError) in try store.append(batch) }
    }

    private func record(_ receipt: DocumentReceipt) {
        lastCommit = receipt.commit
        past[lastCommit] = models
    }

    package func flush() throws { try store.flush() }

    package func compact() throws {
        store.compactEverything()
        while try store.compactionStep() {}
    }

    /// Closes the store and opens it again.
    package func reopen(seed: UInt64) throws {
        try store.close()
        store = try StoreEngine(opening: volume, options: Self.options(seed, clock))
        engine = try DocumentEngine(store)
    }

    /// Returns the bytes of a document, or nil if the store has none.
    package func bytes(_ name: Name) throws -> [UInt8]? {
        let snapshot = engine.snapshot()
        guard let key = try snapshot.key(collection: name.collection, id: name.id) else {
            return nil
        }
        return try snapshot.document(key)?.bytes
    }

    /// Returns the complete contents of a document, in the model's format.
    package func dump(_ bytes: [UInt8]?) throws -> [String] {
        try bytes?.withUnsafeBytes {
            let document = try EncodedDocument($0)
            try document.validate(engine.snapshot().names)
            return try DocumentDump.lines(of: document, engine.snapshot().names)
        } ?? []
    }
}
