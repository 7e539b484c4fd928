import Sheaf
import Synchronization

/// Documents, and what can be done to them.
public final class DittoStore: Sendable {
    let sheaf: Store
    let complaints = Complaints()
    let registered = Mutex<Set<DittoStoreObserver>>([])
    /// What shares the documents; none where the database was opened without peers.
    let peer: Peer?
    let fetching = Mutex<Set<DittoAttachmentFetcher>>([])

    init(_ store: Store, _ peer: Peer?) {
        sheaf = store
        self.peer = peer
    }

    /// Takes the errors of calls that cannot throw, such as `registerObserver` and `exec()`.
    ///
    /// If nobody sets it, they go to standard error.
    public var onUnthrownError: @Sendable (_ error: any Error) -> Void {
        get { complaints.handler }
        set { complaints.handler = newValue }
    }

    /// Runs a statement as a transaction of its own.
    ///
    /// Arguments are named without their colon. They are booleans, numbers, texts, `Data`, `NSNull` or
    /// nil, and arrays and dictionaries of these.
    @discardableResult
    public nonisolated(nonsending) func execute(
        query: String, arguments: [String: Any?]? = nil
    ) async throws -> DittoQueryResult {
        try await run(try Statement(query, arguments))
    }

    /// Runs a statement whose arguments were converted before.
    nonisolated(nonsending) func run(_ statement: Statement) async throws -> DittoQueryResult {
        let result = try await inDittoWords {
            try await sheaf.execute(statement.query, statement.arguments)
        }
        return DittoQueryResult(result, isReading: isReading(statement), complaints)
    }

    /// Whether a statement that has run changes nothing.
    func isReading(_ statement: Statement) -> Bool {
        sheaf.isReading(statement.query)
    }
}

/// A statement and its arguments, as Sheaf takes them.
struct Statement: Sendable {
    let query: Query
    let values: [String: Value]

    var arguments: QueryArguments { QueryArguments(values) }

    init(_ query: Query, _ values: [String: Value] = [:]) {
        self.query = query
        self.values = values
    }

    /// A statement that an older call is translated into: its objects are maps whatever the strict mode, since
    /// older calls have no types to declare.
    init(older query: Query, _ values: [String: Value]) {
        self.init("/*+ {\"#strict_mode\":false} */ \(part: query)", values)
    }

    init(_ text: String, _ arguments: [String: Any?]?) throws(DittoError) {
        query = Query(verbatim: text)
        do throws(Unbridgeable) {
            values = try [String: Value](bridging: arguments ?? [:])
        } catch {
            throw DittoError(argument: error)
        }
    }
}
