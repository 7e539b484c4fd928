import Synchronization

extension Store {
    /// Tells `onChange` what the result of a query is, and what it becomes.
    ///
    ///     let observer = try store.observe(
    ///         "SELECT * FROM cars WHERE color = :color", ["color": "blue"]
    ///     ) { result in
    ///         show(result.items)
    ///     }
    ///     observer.cancel()
    ///
    /// It is called on a thread of the store, at once and then after each commit that changes the result;
    /// with the newest result, if it takes longer than the next change. What it throws is counted in
    /// `system:metrics`, and the next change comes all the same.
    @discardableResult
    public func observe(
        _ query: Query, _ arguments: QueryArguments = QueryArguments(),
        onChange: @escaping @Sendable (QueryResult) throws -> Void
    ) throws -> Observer {
        try observe(query, arguments, .result(onChange))
    }

    /// Tells `onChange` what the result of a query is, and what it becomes, at its pace: nothing more
    /// comes until it, or somebody later, has called its second argument.
    @discardableResult
    public func observe(
        _ query: Query, _ arguments: QueryArguments = QueryArguments(),
        onChange:
            @escaping @Sendable (
                QueryResult, _ signalNext: @escaping @Sendable () -> Void
            ) throws -> Void
    ) throws -> Observer {
        try observe(query, arguments, .signal(onChange))
    }

    /// The results of a query as they change, one after the other.
    public func observe(
        _ query: Query, _ arguments: QueryArguments = QueryArguments()
    ) throws -> Observation {
        Observation(try observe(query, arguments, .sequence))
    }

    /// All observers that were not cancelled, in the order in which they began.
    public var observers: [Observer] { hub.all }

    private func observe(
        _ query: Query, _ arguments: QueryArguments, _ callback: Observer.Callback
    ) throws(StoreError) -> Observer {
        guard !isClosed.load(ordering: .acquiring) else { throw .closed }
        return try hub.observe(query, arguments, callback)
    }
}
