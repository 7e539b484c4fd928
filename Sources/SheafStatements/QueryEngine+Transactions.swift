import SheafDocument
package import SheafEngine
package import SheafQuery

/// Statements within a transaction.
extension QueryEngine {
    /// Runs a statement in a write transaction; a statement that fails changes nothing.
    package func execute(
        _ query: Query, _ arguments: QueryArguments, in transaction: inout DocumentTransaction
    ) throws(QueryError) -> QueryOutcome {
        let statement = try statement(query)
        let arguments = try query.bind(arguments)
        return try recordingRequest(statement) { () throws(QueryError) in
            try run(statement, arguments, in: &transaction)
        }
    }

    private func run(
        _ statement: Statement, _ arguments: ArgumentValues,
        in transaction: inout DocumentTransaction
    ) throws(QueryError) -> QueryOutcome {
        switch statement.kind {
        case .writing:
            transaction.beginStatement()
            do throws(QueryError) {
                return try change(statement, arguments, parameters, in: &transaction)
            } catch {
                transaction.rollBackStatement()
                throw error
            }
        case .createIndex, .dropIndex, .advising(isProvisioning: true):
            throw QueryError(
                .meaning, "indexes cannot be created or dropped within a transaction",
                hint: "run the statement outside of a transaction, with Store.execute")
        default:
            let reader = transaction.reader(parameters.collections, storeNumber: number)
            return try executeReading(statement, arguments, on: reader)
        }
    }

    /// Returns a reader of all committed documents, durable or not, as the next writer sees them.
    ///
    /// No writer may be active meanwhile.
    package func pendingReader() -> SnapshotReader {
        var transaction = documents.begin()
        defer { documents.rollBack(&transaction) }
        return transaction.reader(parameters.collections, storeNumber: number)
    }

    /// Runs a statement that writes nothing on a given snapshot.
    package func execute(
        _ statement: Statement, _ arguments: ArgumentValues, on snapshot: DocumentSnapshot
    ) throws(QueryError) -> QueryOutcome {
        try recordingRequest(statement) { () throws(QueryError) in
            try executeReading(statement, arguments, on: reader(of: snapshot, parameters))
        }
    }

    private func executeReading(
        _ statement: Statement, _ arguments: ArgumentValues, on reader: SnapshotReader
    ) throws(QueryError) -> QueryOutcome {
        switch statement.kind {
        case .reading: return try read(statement, arguments, on: reader)
        case .advising:
            try QueryError.checkIndexes(source.indexFailure, of: reader.snapshot)
            let rows = try run(statement, arguments, parameters, on: reader).advice().rows
            return QueryOutcome(rows: rows, reader: reader, mutatedIDs: [], commit: nil)
        default:
            let change = try run(statement, arguments, parameters, on: reader).configuration()
            guard change.isShowing else {
                throw QueryError(
                    .meaning, "system parameters cannot be set within a transaction",
                    hint: "run the statement outside of a transaction, with Store.execute")
            }
            return try configure(change, in: statement, on: reader)
        }
    }
}

extension StatementKind {
    /// Whether the statement can run in a read-only store or transaction.
    package var isAllowedReadOnly: Bool {
        switch self {
        case .reading, .advising(isProvisioning: false), .system: true
        case .writing, .createIndex, .dropIndex, .advising(isProvisioning: true): false
        }
    }
}
