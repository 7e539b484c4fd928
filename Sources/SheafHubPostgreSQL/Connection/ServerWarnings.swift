import Synchronization

/// The warnings of a server, instead of lines on standard error.
package final class ServerWarnings: Sendable {
    private let hasWarned = Atomic(false)

    package init() {}

    /// Records a notice; `severity` is that of the protocol, which is not translated.
    package func record(severity: String) {
        if severity == "WARNING" { hasWarned.store(true, ordering: .relaxed) }
    }

    /// Returns whether the server has warned since the last call.
    package func take() -> Bool { hasWarned.exchange(false, ordering: .relaxed) }
}
