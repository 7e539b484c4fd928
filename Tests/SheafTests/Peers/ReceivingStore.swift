import SheafBytes
import SheafDocument
import SheafEngine
import SheafReplication
import SheafStatements
import SheafStorage
import SheafSync
import SheafTestSupport

/// A store that receives documents without a peer.
struct ReceivingStore {
    let volume: SimulatedVolume
    let store: StoreEngine
    let engine: DocumentEngine

    init(
        _ volume: SimulatedVolume, _ clock: FakeClock, transactionLength: Int = 1 << 30
    ) throws {
        var options = LogStoreOptions()
        options.clock = clock.clock
        options.transactionLength = transactionLength
        self.volume = volume
        store = try StoreEngine(opening: volume, options: options)
        engine = try DocumentEngine(store)
    }

    /// Uses the store of a peer.
    init(_ store: SceneStore) {
        (volume, self.store, engine) = (store.volume, store.engine, store.queries.documents)
    }

    /// Returns the join of two documents with spelled names.
    static func joined(_ left: [UInt8], _ right: [UInt8]) throws -> [UInt8] {
        try left.withUnsafeBytes { left in
            try right.withUnsafeBytes { right in
                try Join.join(EncodedDocument(left), EncodedDocument(right))
            }
        }
    }

    /// Commits a change of a car, and returns the stamp of the write.
    @discardableResult
    func commit(_ id: Value, _ action: DocumentChange.Action) throws -> Stamp? {
        let receipt = try engine.commit([DocumentChange("cars", id, action)]) {
            (batch) throws(StorageError) in try store.append(batch)
        }
        return receipt.outcomes[0].stamp
    }

    func commit(_ transaction: inout DocumentTransaction) throws {
        _ = try engine.commit(&transaction) { (batch) throws(StorageError) in
            try store.append(batch)
        }
    }

    static func address(_ id: String) -> DocumentAddress {
        DocumentAddress(collection: "cars", id: SortKey.identity(of: .string(id)))
    }

    /// Returns the key of a car.
    func key(
        _ id: String, in transaction: inout DocumentTransaction
    ) throws(EngineError) -> DocumentKey {
        let number = try transaction.number(ofCollection: "cars")
        return DocumentKey(
            StoreKey.document(collection: number, id: Self.address(id).id).bytes)
    }

    /// Returns the state of a car that the transaction has received; nil if there is none.
    func state(
        of id: String, in transaction: inout DocumentTransaction
    ) throws(EngineError) -> [UInt8]? {
        let key = try key(id, in: &transaction)
        return transaction.state(of: key)
    }

    /// Receives a document with spelled names from a peer; returns the outcome.
    func receive(
        _ bytes: [UInt8], _ id: String, _ marks: SpillBuffer.Marks = [],
        by rule: WriteRule? = nil, in transaction: inout DocumentTransaction
    ) throws(EngineError) -> String {
        let key = try key(id, in: &transaction)
        let names = transaction.catalog.names
        let renamed: [UInt8]
        do throws(Malformed) {
            renamed = try bytes.span.withUnsafeBytes { (bytes) throws(Malformed) in
                try EncodedDocument(bytes).renamed(from: NameTable(), to: names)
            }
        } catch {
            throw .invalidDocument(error)
        }
        let idBytes = Self.address(id).id
        let memory = idBytes + renamed
        return try memory.span.withUnsafeBytes { (memory) throws(EngineError) in
            let document = BufferedDocument(
                collection: "cars", beginsCollection: true,
                id: UnsafeRawBufferPointer(rebasing: memory.prefix(idBytes.count)), marks: marks,
                bytes: UnsafeRawBufferPointer(rebasing: memory.dropFirst(idBytes.count)),
                contents: renamed[...], unproven: [])
            let reception = try transaction.receive(document, key, rule)
            return text(reception, at: key)
        }
    }

    /// Returns a document as JSON; nil for tombstones and for no state.
    static func json(_ state: [UInt8]?, _ names: NameTable) -> String? {
        guard let state else { return nil }
        let object = try? state.withUnsafeBytes { try EncodedDocument($0).value(names) }
        return object.map { Value.object($0).json }
    }

    /// Describes an outcome; `before` stands for the stored state.
    private func text(
        _ reception: DocumentTransaction.Reception, at key: DocumentKey
    ) -> String {
        switch reception {
        case .accepted(let isNew): return isNew ? "accepted new" : "accepted"
        case .merged(let before, let lacksOwn):
            return "merged" + text(before, at: key) + (lacksOwn ? ", lacks own" : "")
        case .gap: return "gap"
        case .tooFarAhead(let time): return "ahead \(time.rawValue)"
        case .refused(let before, let reason):
            return "refused \(reason)" + text(before, at: key)
        case .deletionRefused(let isSeen):
            return isSeen ? "seen deletion refused" : "deletion refused"
        case .hidden(let write):
            var words = ["hidden"]
            if write.isWritten { words.append("written") }
            if write.isNew { words.append("new") }
            if write.hasOtherWrites { words.append("incomplete") }
            words.append(Self.json(write.shadow, NameTable()) ?? "nothing")
            return words.joined(separator: " ") + text(write.before, at: key)
        }
    }

    private func text(_ before: StoredDocument?, at key: DocumentKey) -> String {
        guard let before else { return "" }
        let stored = try? engine.snapshot().document(key.bytes)
        return before.bytes == stored?.bytes ? " before" : " with another state"
    }
}
