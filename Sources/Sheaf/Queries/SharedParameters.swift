import SheafQuery
import SheafStorage

/// The parameters of the system, and what statements share of what is made of them.
final class SharedParameters: Sendable {
    let values: SystemParameters
    let collections: SystemCollections
    /// Whether statements have no directives but their own.
    private let areDirectivesOwn: Bool

    convenience init(
        _ values: SystemParameters, _ requests: RequestLog, _ board: SyncBoard,
        _ statements: SharedStatements, clock: Clock
    ) {
        self.init(
            values, SystemCollections(values, requests, board, statements, clock: clock))
    }

    private init(_ values: SystemParameters, _ collections: SystemCollections) {
        self.values = values
        self.collections = collections
        areDirectivesOwn = values.defaultDirectives.isEmpty
    }

    /// Returns the same with other parameters.
    func with(_ values: SystemParameters) -> SharedParameters {
        SharedParameters(values, collections.with(values))
    }

    /// Whether a statement means what it says, and nothing besides.
    @inline(__always)
    func arePlain(for statement: Statement) -> Bool {
        areDirectivesOwn && !(statement.strictness ?? values.isStrict)
    }
}
