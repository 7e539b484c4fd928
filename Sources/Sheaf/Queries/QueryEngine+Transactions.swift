import SheafDocument
package import SheafQuery

/// Statements in transactions of several.
extension QueryEngine {
    /// Runs a statement in a transaction that writes; one that fails has done nothing.
    package func execute(
        _ query: Query, _ arguments: QueryArguments, in transaction: inout DocumentTransaction
    ) throws(QueryError) -> QueryOutcome {
        let statement = try statement(query)
        let arguments = try query.bind(arguments)
        return try noting(statement) { () throws(QueryError) in
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
                .meaning, "indexes are not made or dropped within a transaction",
                hint: "run the statement by itself, with execute of the store")
        default:
            let reader = transaction.reader(parameters.collections, storeNumber: number)
            return try look(statement, arguments, on: reader)
        }
    }

    /// Shows all that was written, be it durable or not, as the next writer would see it.
    ///
    /// Nobody may be writing meanwhile.
    package func writersReader() -> SnapshotReader {
        var transaction = documents.begin()
        defer { documents.rollBack(&transaction) }
        return transaction.reader(parameters.collections, storeNumber: number)
    }

    /// Runs a statement that writes nothing on an older state.
    func execute(
        _ statement: Statement, _ arguments: ArgumentValues, on snapshot: DocumentSnapshot
    ) throws(QueryError) -> QueryOutcome {
        try noting(statement) { () throws(QueryError) in
            try look(statement, arguments, on: reader(of: snapshot, parameters))
        }
    }

    private func look(
        _ statement: Statement, _ arguments: ArgumentValues, on reader: SnapshotReader
    ) throws(QueryError) -> QueryOutcome {
        switch statement.kind {
        case .reading: return try read(statement, arguments, on: reader)
        case .advising:
            try QueryError.check(source.linkFailure, of: reader.snapshot)
            let rows = try run(statement, arguments, parameters, on: reader).advice().rows
            return QueryOutcome(rows: rows, reader: reader, mutatedIDs: [], commit: nil)
        default:
            let change = try run(statement, arguments, parameters, on: reader).configuration()
            guard change.isShowing else {
                throw QueryError(
                    .meaning, "system parameters are not set within a transaction",
                    hint: "run the statement by itself, with execute of the store")
            }
            return try configure(change, in: statement, on: reader)
        }
    }
}

extension StatementKind {
    /// Whether it can be run where nothing may be changed.
    var isAllowedReadOnly: Bool {
        switch self {
        case .reading, .advising(isProvisioning: false), .system: true
        case .writing, .createIndex, .dropIndex, .advising(isProvisioning: true): false
        }
    }
}
