import SheafBytes
import SheafDocument
import SheafEngine
import SheafStatements

/// The writing of one batch to a transaction.
struct RowWriter {
    private let target: ImportTarget
    private let options: ImportOptions
    private var documents: NewDocuments
    private(set) var badRows: [BadRow]
    private(set) var importedCount: UInt64 = 0
    private(set) var skippedCount: UInt64 = 0
    /// Number of bad rows permitted.
    var badRowRoom = UInt64.max
    /// The row that failed, if the transaction did.
    private(set) var failedRow: BadRow?

    /// Creates the writer of a batch, whose documents it takes.
    init(_ target: ImportTarget, _ options: ImportOptions, _ rows: inout ImportedRows) {
        (self.target, self.options) = (target, options)
        documents = rows.takeDocuments()
        badRows = rows.badRows
    }

    /// Writes the documents of the rows.
    mutating func write(to transaction: inout DocumentTransaction) throws(EngineError) {
        guard documents.count > 0 else { return }
        transaction.maximumLength = target.queries.parameters.values.hardSizeLimit
        transaction.keepsCounters = true
        documents.setCollection(try transaction.number(ofCollection: target.collection))
        let others = try transaction.selectNew(of: &documents)
        for index in others { try insert(index, into: &transaction) }
        importedCount += UInt64(documents.count - others.count)
        try transaction.insert(&documents)
        badRows.sort { $0.row < $1.row }
    }

    /// Inserts a document that exists, or that needs to be decoded.
    private mutating func insert(
        _ index: Int, into transaction: inout DocumentTransaction
    ) throws(EngineError) {
        let row = documents.rows[index]
        transaction.beginStatement()
        do throws(EngineError) {
            let object = try onDocument(row.key.bytes) { () throws(Malformed) in
                try documents.object(at: index, transaction.catalog.names)
            }
            let id = try onDocument(row.key.bytes) { () throws(Malformed) in
                try DocumentID.id(
                    of: Array(row.key.bytes.dropFirst(StoreKey.documentPrefixLength)))
            }
            let outcome = try transaction.apply(
                DocumentChange(
                    target.collection, id, .insert(object, onConflict: options.conflict)))
            if outcome.isChanged { importedCount += 1 } else { skippedCount += 1 }
        } catch {
            failedRow = BadRow(row: row.number, reason: StoreError(error).message)
            switch error {
            case .document, .limit("maximumDocumentLength", _, _): break
            default: throw error
            }
            transaction.rollBackStatement()
            guard UInt64(badRows.count) < badRowRoom, let failedRow else { throw error }
            badRows.append(failedRow)
        }
    }
}

extension StoreError {
    /// Whether the error concerns the store rather than a row.
    var isOfStore: Bool {
        switch reason {
        case .conflict, .limit, .meaning, .argument: false
        default: true
        }
    }
}

extension ImportError {
    /// Creates the error of an import from an error of the store.
    init(_ error: EngineError) {
        let error = StoreError(error)
        self = error.reason == .damaged ? .damaged(error.message) : .store(error.message)
    }
}
