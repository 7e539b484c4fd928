import SheafBytes
import SheafDocument
import SheafEngine
import SheafStatements

/// The writing of one batch to a transaction.
struct RowWriter {
    /// The reason why a batch ends before its last row.
    enum Cut {
        /// More rows are bad than permitted: the batch ends with this one.
        case after(UInt64)
        /// The store refuses this row, before which the batch ends.
        case before(BadRow)
    }

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
    private(set) var cut: Cut?

    /// Creates the writer of a batch, whose documents it takes.
    init(
        _ target: ImportTarget, _ options: ImportOptions, _ rows: inout ImportedRows,
        badRowRoom: UInt64
    ) {
        (self.target, self.options, self.badRowRoom) = (target, options, badRowRoom)
        documents = rows.takeDocuments()
        rejectedRows = rows.badRows
    }

    /// Whether all rows were removed.
    var isEmpty: Bool { documents.count == 0 && rejectedRows.isEmpty }

    /// Writes the documents of the rows.
    ///
    /// Throws `rolledBack` if the batch turns out to end earlier (`cut`): another transaction must
    /// write its rows.
    mutating func write(to transaction: inout DocumentTransaction) throws(EngineError) {
        (badRows, importedCount, skippedCount) = (rejectedRows, 0, 0)
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
        guard last < row else { return }
        if case .after(last) = cut { return }
        cut = .after(last)
        removeRows { $0 > last }
        throw .rolledBack
    }

    private mutating func removeRows(where isRemoved: (UInt64) -> Bool) {
        documents.removeRows(where: isRemoved)
        rejectedRows.removeAll { isRemoved($0.row) }
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
            switch error {
            case .document, .limit("maximumDocumentLength", _, _):
                transaction.rollBackStatement()
                badRows.append(BadRow(row: row.number, reason: StoreError(error).message))
            case _ where StoreError(error).isOfStore: throw error
            default:
                // The rows are inserted in their order, so no earlier row is refused.
                cut = .before(Self.refused(row.number, error))
                removeRows { $0 >= row.number }
                throw .rolledBack
            }
        }
    }

    private static func refused(_ row: UInt64, _ error: EngineError) -> BadRow {
        var reason = StoreError(error).message
        if case .exists = error {
            reason +=
                "; --on-conflict nothing keeps the document, --on-conflict update sets the fields "
                + "of the row in it"
        }
        return BadRow(row: row, reason: reason)
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
