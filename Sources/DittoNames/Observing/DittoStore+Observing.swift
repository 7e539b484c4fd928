public import Dispatch
import Sheaf
import Synchronization

/// Is told the result of a query, at once and after each change of it.
public typealias DittoStoreObservationHandler = (_ result: DittoQueryResult) -> Void

/// Says that a handler is ready for the next result.
public typealias DittoSignalNext = @Sendable () -> Void

/// Is told the result of a query, and the next one not before it has signaled for it.
public typealias DittoStoreObservationHandlerWithSignalNext = (
    _ result: DittoQueryResult, _ signalNext: @escaping DittoSignalNext
) -> Void

extension DittoStore {
    /// Tells `handler` what the result of a query is, and what it becomes.
    ///
    /// It is called on `queue`, at once and then after each commit that changes the result; with the newest
    /// result, if it takes longer than the next change. A query that cannot be observed gives an observer
    /// that is cancelled and has an `error`, which `onUnthrownError` gets as well: the call itself cannot
    /// throw, since the samples of the reference system make it without `try`.
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

    /// Tells `handlerWithSignalNext` what the result of a query is, and what it becomes, at its pace.
    @discardableResult
    public func registerObserver(
        query: String, arguments: [String: Any?]? = nil, deliverOn queue: DispatchQueue = .main,
        handlerWithSignalNext: @escaping DittoStoreObservationHandlerWithSignalNext
    ) -> DittoStoreObserver {
        register(query, arguments, queue, handlerWithSignalNext)
    }

    /// Tells `handler` what the result of a query is, and what it becomes.
    @discardableResult
    public func registerObserver(
        _ query: String, arguments: [String: Any?]? = nil, deliverOn queue: DispatchQueue = .main,
        handler: @escaping DittoStoreObservationHandler
    ) -> DittoStoreObserver {
        registerObserver(query: query, arguments: arguments, deliverOn: queue, handler: handler)
    }

    /// Calls `handlerWithSignalNext` with the result of a query, and with each later one after its signal.
    @discardableResult
    public func registerObserver(
        _ query: String, arguments: [String: Any?]? = nil, deliverOn queue: DispatchQueue = .main,
        handlerWithSignalNext: @escaping DittoStoreObservationHandlerWithSignalNext
    ) -> DittoStoreObserver {
        register(query, arguments, queue, handlerWithSignalNext)
    }

    /// All observers that were not cancelled.
    public var observers: Set<DittoStoreObserver> { registered.withLock { $0 } }

    private func register(
        _ query: String, _ arguments: [String: Any?]?, _ queue: DispatchQueue,
        _ handler: @escaping DittoStoreObservationHandlerWithSignalNext
    ) -> DittoStoreObserver {
        let complaints = complaints
        let unregister: @Sendable (DittoStoreObserver) -> Void = { [weak self] observer in
            self?.registered.withLock { _ = $0.remove(observer) }
        }
        do {
            let statement = try Statement(query, arguments)
            let delivery = try Delivery(of: statement, from: self, on: queue) { result, next in
                handler(DittoQueryResult(result, isReading: true, complaints), next)
            }
            let observer = DittoStoreObserver(
                query, statement.values, delivery, onCancel: unregister)
            registered.withLock { _ = $0.insert(observer) }
            return observer
        } catch {
            complaints.complain(error)
            return DittoStoreObserver(
                query, [:], nil, error: DittoError.translated(error), onCancel: unregister)
        }
    }
}
