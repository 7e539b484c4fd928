public import Dispatch
import Sheaf
import Synchronization

/// A handler of query results, called immediately and after each change of the result.
public typealias DittoStoreObservationHandler = (_ result: DittoQueryResult) -> Void

/// A closure by which a handler requests the next result.
public typealias DittoSignalNext = @Sendable () -> Void

/// A handler of query results, called again only after it has requested the next result.
public typealias DittoStoreObservationHandlerWithSignalNext = (
    _ result: DittoQueryResult, _ signalNext: @escaping DittoSignalNext
) -> Void

extension DittoStore {
    /// Observes a query: calls `handler` with its result and with each later result.
    ///
    /// The handler is called on `queue`, immediately and then after each commit that changes the
    /// result. If it is slower than the changes, intermediate results are skipped. If the query
    /// cannot be observed, the observer is canceled and has an `error`, which is also passed to
    /// `onUnthrownError`; the call does not throw because it does not throw in the reference
    /// system.
    @discardableResult
    public func registerObserver(
        query: String, arguments: [String: Any?]? = nil, deliverOn queue: DispatchQueue = .main,
        handler: @escaping DittoStoreObservationHandler
    ) -> DittoStoreObserver {
        register(query, arguments, queue) { result, next in
            handler(result)
            next()
        }
    }

    /// Observes a query; each later result is delivered after the handler has requested it.
    @discardableResult
    public func registerObserver(
        query: String, arguments: [String: Any?]? = nil, deliverOn queue: DispatchQueue = .main,
        handlerWithSignalNext: @escaping DittoStoreObservationHandlerWithSignalNext
    ) -> DittoStoreObserver {
        register(query, arguments, queue, handlerWithSignalNext)
    }

    /// Observes a query: calls `handler` with its result and with each later result.
    @discardableResult
    public func registerObserver(
        _ query: String, arguments: [String: Any?]? = nil, deliverOn queue: DispatchQueue = .main,
        handler: @escaping DittoStoreObservationHandler
    ) -> DittoStoreObserver {
        registerObserver(query: query, arguments: arguments, deliverOn: queue, handler: handler)
    }

    /// Observes a query; each later result is delivered after the handler has requested it.
    @discardableResult
    public func registerObserver(
        _ query: String, arguments: [String: Any?]? = nil, deliverOn queue: DispatchQueue = .main,
        handlerWithSignalNext: @escaping DittoStoreObservationHandlerWithSignalNext
    ) -> DittoStoreObserver {
        register(query, arguments, queue, handlerWithSignalNext)
    }

    /// All observers that are not canceled.
    public var observers: Set<DittoStoreObserver> { registered.withLock { $0 } }

    private func register(
        _ query: String, _ arguments: [String: Any?]?, _ queue: DispatchQueue,
        _ handler: @escaping DittoStoreObservationHandlerWithSignalNext
    ) -> DittoStoreObserver {
        let errorHandler = errorHandler
        let unregister: @Sendable (DittoStoreObserver) -> Void = { [weak self] observer in
            self?.registered.withLock { _ = $0.remove(observer) }
        }
        do {
            let statement = try DittoStatement(query, arguments)
            let delivery = try Delivery(of: statement, from: self, on: queue) { result, next in
                handler(DittoQueryResult(result, isReading: true, errorHandler), next)
            }
            let observer = DittoStoreObserver(
                query, statement.values, delivery, onCancel: unregister)
            registered.withLock { _ = $0.insert(observer) }
            return observer
        } catch {
            errorHandler.report(error)
            return DittoStoreObserver(
                query, [:], nil, error: DittoError.translated(error), onCancel: unregister)
        }
    }
}
