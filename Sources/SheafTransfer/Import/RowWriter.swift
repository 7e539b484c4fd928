import SheafBytes
import SheafDocument
import SheafEngine
import SheafStatements

/// The writing of one batch to a transaction.
struct RowWriter {
    private let target: ImportTarget
    private let options: ImportOptions
    private var documents: NewDocuments
    /// The bad rows that the source found, in order.
    private var rejectedRows: [BadRow]
    /// All bad rows, in order.
    private(set) var badRows: [BadRow] = []
    private(set) var importedCount: UInt64 = 0
    private(set) var skippedCount: UInt64 = 0
    /// Number of bad rows permitted.
    private let badRowRoom: UInt64
    /// The first bad row that is not permitted, with which the batch ends; nil if there is none.
    private(set) var lastRow: UInt64?
    /// The row that failed, if the transaction did.
    private(set) var failedRow: BadRow?

    /// Creates the writer of a batch, whose documents it takes.
    init(
        _ target: ImportTarget, _ options: ImportOptions, _ rows: inout ImportedRows,
        badRowRoom: UInt64
    ) {
        (self.target, self.options, self.badRowRoom) = (target, options, badRowRoom)
        documents = rows.takeDocuments()
        rejectedRows = rows.badRows
    }

    /// Writes the documents of the rows.
    ///
    /// Throws `rolledBack` if more rows turn out to be bad than permitted: another transaction must
    /// write the rows up to `lastRow`, which then are the rows of the batch.
    mutating func write(to transaction: inout DocumentTransaction) throws(EngineError) {
        (badRows, importedCount, skippedCount, failedRow) = (rejectedRows, 0, 0, nil)
        if documents.count > 0 { try writeDocuments(to: &transaction) }
        try checkRoom()
        badRows.sort { $0.row < $1.row }
    }

    private mutating func writeDocuments(
        to transaction: inout DocumentTransaction
    ) throws(EngineError) {
        transaction.maximumLength = target.queries.parameters.values.hardSizeLimit
        transaction.keepsCounters = true
        documents.setCollection(try transaction.number(ofCollection: target.collection))
        let others = try transaction.selectNew(of: &documents)
        for index in others { try insert(index, into: &transaction) }
        importedCount += UInt64(documents.count - others.count)
        try transaction.insert(&documents)
    }

    /// Removes the rows after the first bad row that is not permitted, if they are not yet removed.
    private mutating func checkRoom(before row: UInt64 = .max) throws(EngineError) {
        guard UInt64(badRows.count) > badRowRoom else { return }
        badRows.sort { $0.row < $1.row }
        let last = badRows[Int(badRowRoom)].row
        guard last < row, last != lastRow else { return }
        lastRow = last
        documents.removeRows(after: last)
        rejectedRows.removeAll { $0.row > last }
        throw .rolledBack
    }

    /// Inserts a document that exists, or that needs to be decoded.
    private mutating func insert(
        _ index: Int, into transaction: inout DocumentTransaction
    ) throws(EngineError) {
        let row = documents.rows[index]
        try checkRoom(before: row.number)
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
            let bad = BadRow(row: row.number, reason: StoreError(error).message)
            switch error {
            case .document, .limit("maximumDocumentLength", _, _): break
            default:
                failedRow = bad
                throw error
            }
            transaction.rollBackStatement()
            badRows.append(bad)
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
