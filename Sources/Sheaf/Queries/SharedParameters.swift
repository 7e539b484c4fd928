import SheafQuery
import SheafStorage

/// The parameters of the system, and what statements share of what is made of them.
final class SharedParameters: Sendable {
    let values: SystemParameters
    let collections: SystemCollections
    /// Whether statements have no directives but their own.
    private let areDirectivesOwn: Bool

    init(
        _ values: SystemParameters, _ requests: RequestLog, _ board: SyncBoard, clock: Clock
    ) {
        self.values = values
        collections = SystemCollections(values, requests, board, clock: clock)
        areDirectivesOwn = values.defaultDirectives.isEmpty
    }

    /// Whether a statement means what it says, and nothing besides.
    @inline(__always)
    func arePlain(for statement: Statement) -> Bool {
        areDirectivesOwn && !(statement.strictness ?? values.isStrict)
    }
}
