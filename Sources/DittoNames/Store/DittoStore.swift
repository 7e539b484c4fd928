import Sheaf
import Synchronization

/// The documents of a database.
public final class DittoStore: Sendable {
    let sheaf: Store
    let errorHandler = ErrorHandler()
    let registered = Mutex<Set<DittoStoreObserver>>([])
    /// The replicating peer; nil if the database was opened without peers.
    let peer: Peer?
    let fetching = Mutex<Set<DittoAttachmentFetcher>>([])

    init(_ store: Store, _ peer: Peer?) {
        sheaf = store
        self.peer = peer
    }

    /// The handler for errors of calls that cannot throw, such as `registerObserver` and `exec()`.
    ///
    /// By default, errors are written to standard error.
    public var onUnthrownError: @Sendable (_ error: any Error) -> Void {
        get { errorHandler.handler }
        set { errorHandler.handler = newValue }
    }

    /// Runs a statement in its own transaction.
    ///
    /// Arguments are named without the colon. They are Booleans, numbers, strings, `Data`, `NSNull`
    /// or nil, and arrays and dictionaries of these.
    @discardableResult
    public nonisolated(nonsending) func execute(
        query: String, arguments: [String: Any?]? = nil
    ) async throws -> DittoQueryResult {
        try await run(try DittoStatement(query, arguments))
    }

    /// Runs a statement whose arguments have been converted.
    nonisolated(nonsending) func run(_ statement: DittoStatement) async throws -> DittoQueryResult {
        let result = try await inDittoWords {
            try await sheaf.execute(statement.query, statement.arguments)
        }
        return DittoQueryResult(result, isReading: isReading(statement), errorHandler)
    }

    /// Whether an executed statement only reads.
    func isReading(_ statement: DittoStatement) -> Bool {
        sheaf.isReading(statement.query)
    }
}

/// A statement and its arguments, converted for Sheaf.
package struct DittoStatement: Sendable {
    let query: DQL
    let values: [String: Value]

    var arguments: QueryArguments { QueryArguments(values) }

    init(_ query: DQL, _ values: [String: Value] = [:]) {
        self.query = query
        self.values = values
    }

    /// Creates a statement for an older call, with strict mode off.
    ///
    /// Objects in it are maps whatever the mode of the store: older calls cannot declare types.
    init(older query: DQL, _ values: [String: Value]) {
        self.init("/*+ {\"#strict_mode\":false} */ \(part: query)", values)
    }

    init(_ text: String, _ arguments: [String: Any?]?) throws(DittoError) {
        query = DQL(verbatim: text)
        do throws(Unbridgeable) {
            values = try [String: Value](bridging: arguments ?? [:])
        } catch {
            throw DittoError(argument: error)
        }
    }
}
