import SheafBytes
import SheafDocument
import SheafEngine
import SheafReplication
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
        transaction.state(of: try key(id, in: &transaction))
    }

    /// Receives a document with spelled names from a peer with all rights; returns the outcome.
    func receive(
        _ bytes: [UInt8], _ id: String, _ marks: SpillBuffer.Marks = [],
        in transaction: inout DocumentTransaction
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
        let address = Self.address(id)
        return try address.id.span.withUnsafeBytes { (id) throws(EngineError) in
            try renamed.span.withUnsafeBytes { (bytes) throws(EngineError) in
                let document = BufferedDocument(
                    collection: "cars", beginsCollection: true, id: id, marks: marks,
                    bytes: bytes, contents: renamed[...], unproven: [])
                let reception = try transaction.receive(document, key, nil)
                return text(reception, at: key)
            }
        }
    }

    /// Describes an outcome; `before` stands for the stored state.
    private func text(
        _ reception: DocumentTransaction.Reception, at key: DocumentKey
    ) -> String {
        switch reception {
        case .accepted(let isNew): return isNew ? "accepted new" : "accepted"
        case .merged(let before, let lacksOwn):
            var text = "merged"
            if let before {
                let stored = try? engine.snapshot().document(key.bytes)
                text += before.bytes == stored?.bytes ? " before" : " with another state"
            }
            return lacksOwn ? text + ", lacks own" : text
        case .gap: return "gap"
        case .tooFarAhead(let time): return "ahead \(time.rawValue)"
        case .refused, .deletionRefused, .hidden: return "refused"
        }
    }
}
