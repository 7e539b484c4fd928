import SheafBytes
import SheafDocument
import SheafEngine
import SheafQuery
import SheafStatements
import SheafSync

/// Evaluation budgets of connections, and the ends of connections that exceed them.
extension Replicator {
    /// Returns the evaluation meter of the peer; a new connection does not refill it.
    func meter(of connection: Connection) -> EvaluationMeter {
        budgets.meter(
            of: connection.session.remote?.peerKey, isRestricted: connection.access.rights != nil,
            at: now)
    }

    /// Returns the units left in the budget of a peer; nil if no budget is kept for it.
    package func evaluationUnits(of key: [UInt8]) -> Int? { budgets.units(of: key) }

    /// Refills the budget of the peer for the time since the last refill.
    func fillBudget(of connection: Connection) {
        budgets.fill(
            connection.session.remote?.peerKey, isRestricted: connection.access.rights != nil,
            at: now)
    }

    /// Ends a connection because a query exceeds a limit, or is invalid: then its start is quoted.
    func fail(_ connection: Connection, rejecting text: String, because error: StoreError) {
        guard error.reason != .limit else { return fail(connection, .limit, error.message) }
        let message = error.message.shortened(to: ErrorText.limit)
        fail(connection, .refused, "\(message) (in the subscription \(text.shortened))")
    }

    /// Ends a connection because its subscription cannot be evaluated or costs too much.
    func failSending(_ connection: Connection, _ error: EngineError) {
        guard connection.sender?.matcher.meter?.isExhausted != true else {
            return fail(
                connection, .limit,
                "the queries of the subscription exceed the evaluation budget "
                    + "of a peer")
        }
        switch error {
        case .evaluation(let error) where error.reason == .cancelled:
            fail(connection, .done, "the peer stops")
        case .evaluation(let error) where error.reason == .limit:
            fail(connection, .limit, "the subscription cannot be evaluated: \(error.message)")
        case .evaluation(let error) where !error.reason.isOfReading:
            fail(connection, .refused, "the subscription cannot be evaluated: \(error.message)")
        default: failReading(connection, error)
        }
    }

    /// Ends a connection because documents cannot be read.
    ///
    /// The text names no document and no file, since the peer may not know of them.
    func failReading(_ connection: Connection, _ error: EngineError) {
        queries.log?.write(.error, "cannot read documents for a peer: \(error)")
        let text =
            switch error {
            case .damaged: "the store cannot be read: a document is damaged"
            case .evaluation(let error) where error.reason == .damaged:
                "the store cannot be read: a document is damaged"
            case .evaluation: "a subscription of this peer cannot be evaluated"
            default: "the store cannot be read: an I/O error occurred"
            }
        fail(connection, .failed, text)
    }
}

extension StoreError.Reason {
    /// Whether reading the store failed, so that the text may name a file.
    fileprivate var isOfReading: Bool {
        switch self {
        case .damaged, .disk, .full, .closed, .unsupported, .notAStore, .inUse: true
        default: false
        }
    }
}
