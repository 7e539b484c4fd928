package import SheafEngine
package import SheafQuery

extension EngineError {
    /// Creates the engine error of a query that cannot be evaluated on a document.
    package init(_ error: QueryError) {
        let reason: EvaluationFailure.Reason =
            switch error.reason {
            case .argument: .argument
            case .cancelled: .cancelled
            case .damaged: .damaged
            case .limit: .limit
            case .meaning: .meaning
            default: .failed
            }
        self = .evaluation(EvaluationFailure(reason, error.message))
    }
}

extension QueryError.Reason {
    package init(_ reason: EvaluationFailure.Reason) {
        self =
            switch reason {
            case .argument: .argument
            case .cancelled: .cancelled
            case .damaged: .damaged
            case .failed: .failed
            case .limit: .limit
            case .meaning: .meaning
            }
    }
}
