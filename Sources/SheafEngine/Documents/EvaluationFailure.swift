/// The reason why a query or a rule of a peer could not be evaluated on a document.
package struct EvaluationFailure: Equatable, Sendable {
    /// The kind of a failure.
    package enum Reason: Equatable, Sendable {
        case argument, cancelled, damaged, failed, limit, meaning
    }

    package let reason: Reason
    package let message: String

    package init(_ reason: Reason, _ message: String) {
        self.reason = reason
        self.message = message
    }
}
