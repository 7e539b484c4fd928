import SheafDocument
public import SheafStatements
import Synchronization

extension Store {
    /// Calls `onChange` with the result of a query, and again after each change.
    ///
    ///     let observer = try store.observe(
    ///         "SELECT * FROM cars WHERE color = :color", ["color": "blue"]
    ///     ) { result in
    ///         show(result.items)
    ///     }
    ///     observer.cancel()
    ///
    /// `onChange` is called on a thread of the store, immediately and then after each commit that
    /// changes the result. A slow callback receives only the newest result. Errors that it throws
    /// are counted in `system:metrics` and do not end the observation.
    ///
    /// The observer ends when it is released, so it must be kept.
    public func observe(
        _ query: DQL, _ arguments: QueryArguments = QueryArguments(),
        onChange: @escaping @Sendable (QueryResult) throws -> Void
    ) throws -> StoreObserver {
        try observe(query, arguments, .result(onChange))
    }

    /// Calls `onChange` with the result of a query, and again after changes once it has signaled.
    ///
    /// No further result is delivered until the second argument is called, from any thread. The
    /// observer ends when it is released, so it must be kept.
    public func observe(
        _ query: DQL, _ arguments: QueryArguments = QueryArguments(),
        onChange:
            @escaping @Sendable (
                QueryResult, _ signalNext: @escaping @Sendable () -> Void
            ) throws -> Void
    ) throws -> StoreObserver {
        try observe(query, arguments, .signal(onChange))
    }

    /// Returns an asynchronous sequence of the results of a query as they change.
    public func observe(
        _ query: DQL, _ arguments: QueryArguments = QueryArguments()
    ) throws -> StoreObservation {
        StoreObservation(try observe(query, arguments, .sequence))
    }

    /// All observers that are neither canceled nor released, in order of creation.
    public var observers: [StoreObserver] { dispatcher.all }

    private func observe(
        _ query: DQL, _ arguments: QueryArguments, _ callback: ObserverRegistration.Callback
    ) throws(StoreError) -> StoreObserver {
        guard !isClosed.load(ordering: .acquiring) else { throw .closed }
        let observer = StoreObserver(try dispatcher.observe(query, arguments, callback))
        try follower.start()
        return observer
    }
}
