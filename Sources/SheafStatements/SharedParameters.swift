import SheafQuery
import SheafStorage
package import SheafSystem

/// The system parameters, and values derived from them that all statements share.
package final class SharedParameters: Sendable {
    package let values: SystemParameters
    package let collections: SystemCollections
    /// Whether there are no default directives.
    let hasNoDefaultDirectives: Bool

    package convenience init(
        _ values: SystemParameters, _ requests: RequestLog, _ registered: RegisteredCollections,
        _ statements: SharedStatements, clock: Clock
    ) {
        self.init(
            values, SystemCollections(values, requests, registered, statements, clock: clock))
    }

    private init(_ values: SystemParameters, _ collections: SystemCollections) {
        self.values = values
        self.collections = collections
        hasNoDefaultDirectives = values.defaultDirectives.isEmpty
    }

    /// Returns a copy with other parameters.
    func with(_ values: SystemParameters) -> SharedParameters {
        SharedParameters(values, collections.with(values))
    }

    /// Whether neither default directives nor strict mode affect a statement.
    @inline(__always)
    func haveNoEffect(on statement: Statement) -> Bool {
        hasNoDefaultDirectives && !(statement.strictness ?? values.isStrict)
    }
}
