import SheafBytes
import SheafDocument
import SheafEngine
import SheafReplication
import SheafStorage
import SheafSystem

/// Documents of a complete export that one commit writes.
struct FullBatch {
    private static let maximumLength = 4 << 20

    private let engine: DocumentEngine
    private let maximumCount: Int
    private var documents = SpillBuffer()
    private var addresses: Set<[UInt8]> = []

    init(_ engine: DocumentEngine, maximumCount: Int) {
        self.engine = engine
        self.maximumCount = maximumCount
    }

    var isEmpty: Bool { documents.isEmpty }

    /// Whether the batch must be written before another document is added.
    var isFull: Bool {
        documents.count >= maximumCount || documents.lengthInMemory >= Self.maximumLength
    }

    /// Whether the batch has a document with the same address, which a second commit must join.
    func contains(_ document: FullDocument) -> Bool { addresses.contains(document.address) }

    /// Adds a document, with numbers for its names.
    mutating func add(_ document: FullDocument) throws(Malformed) {
        addresses.insert(document.address)
        let known = engine.newestCatalog.names
        let (bytes, marks) = try document.state.span.withUnsafeBytes {
            (bytes) throws(Malformed) in
            let state = try EncodedDocument(bytes)
            var unknown: [[UInt8]] = []
            try state.forEachSpelledName { name in
                if known.number(of: name) == nil { unknown.append(Array(name)) }
            }
            let names = unknown.isEmpty ? known : engine.assignNumbers(to: unknown)
            let renamed = try state.renamed(from: NameTable(), to: names)
            var marks: SpillBuffer.Marks = []
            try renamed.span.withUnsafeBytes { (bytes) throws(Malformed) in
                // Names that are still spelled out get no numbers later, so they are not marked.
                let document = try EncodedDocument(bytes)
                if try document.validateAndFindTokens(names) { marks.insert(.hasTokens) }
            }
            return (renamed, marks)
        }
        bytes.span.withUnsafeBytes { bytes in
            documents.add(
                document.collection, id: document.key, marks, bytes, unproven: document.unproven)
        }
    }

    /// Writes the documents in one commit; returns the number of those that changed the store.
    func write(
        to engine: DocumentEngine, append: (WriteBatch) throws(StorageError) -> CommitID
    ) throws(EngineError) -> Int {
        var missing: HybridTime??
        do throws(EngineError) {
            return try write(to: engine, &missing, hasSeparated: false, append: append)
        } catch {
            // The file has writes of this store that it lost in a restore.
            guard let missing else { throw error }
            _ = try engine.separate(after: missing, append: append)
            var ignored: HybridTime??
            return try write(to: engine, &ignored, hasSeparated: true, append: append)
        }
    }

    private func write(
        to engine: DocumentEngine, _ missing: inout HybridTime??, hasSeparated: Bool,
        append: (WriteBatch) throws(StorageError) -> CommitID
    ) throws(EngineError) -> Int {
        try engine.write(from: nil, append: append) { (transaction) throws(EngineError) in
            transaction.reserveEncoded(documents.count)
            var changed = 0
            var collection: UInt16 = 0
            try documents.forEach { (document) throws(EngineError) in
                if document.beginsCollection {
                    collection = try transaction.number(ofCollection: document.collection)
                }
                let key = DocumentKey(StoreKey.document(collection, id: document.id))
                if try transaction.receive(document, key, nil).isChange { changed += 1 }
            }
            if transaction.lacksOwnWrites, !hasSeparated {
                missing = .some(transaction.uniqueThrough)
                throw .rolledBack
            }
            return changed
        }.1
    }
}

extension DocumentTransaction.Reception {
    /// Whether the document changed the store; throws if the store cannot have it.
    fileprivate var isChange: Bool {
        get throws(EngineError) {
            switch self {
            case .accepted(let isNew): return isNew
            case .merged: return true
            case .tooFarAhead(let time):
                let seconds = time.milliseconds / 1_000
                throw .evaluation(
                    StoreError(
                        .failed,
                        "a document was written at \(seconds) s after 1970, which is too far "
                            + "ahead of the clock of this computer",
                        hint: "set the clock"))
            case .gap, .refused, .deletionRefused, .hidden:
                throw .invalidDocument(.invalid("not a complete state", at: 0))
            }
        }
    }
}

extension FullDocument {
    /// The collection and the encoded id.
    fileprivate var address: [UInt8] {
        var writer = ByteWriter(capacity: collection.utf8.count + key.count + 2)
        writer.writeText(collection)
        writer.write(key)
        return writer.bytes
    }
}
