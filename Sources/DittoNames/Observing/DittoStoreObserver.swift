import Sheaf
import Synchronization

/// An observation of a query.
///
/// It lasts until it is canceled, or its database is closed or deallocated; it need not be
/// retained.
public final class DittoStoreObserver: Sendable {
    /// The query as passed by the caller.
    public let queryString: String
    /// The reason why the query cannot be observed, or nil.
    public let error: (any Error)?
    private let values: [String: Value]
    /// The delivery of results; nil if the query cannot be observed.
    private let delivery: Delivery?
    private let onCancel: @Sendable (DittoStoreObserver) -> Void

    init(
        _ query: String, _ values: [String: Value], _ delivery: Delivery?,
        error: (any Error)? = nil,
        onCancel: @escaping @Sendable (DittoStoreObserver) -> Void
    ) {
        queryString = query
        self.error = error
        self.values = values
        self.delivery = delivery
        self.onCancel = onCancel
    }

    /// The arguments of the query.
    public var queryArguments: [String: Any?] { values.mapValues(\.foundationValue) }

    /// Whether the observer delivers no further results.
    public var isCancelled: Bool { delivery?.isCancelled ?? true }

    /// Cancels the observer: no call starts after this returns.
    ///
    /// Further calls have no effect.
    public func cancel() {
        guard let delivery, !delivery.isCancelled else { return }
        delivery.cancel()
        onCancel(self)
    }
}

extension DittoStoreObserver: Hashable {
    /// Whether both are the same observer.
    public static func == (left: DittoStoreObserver, right: DittoStoreObserver) -> Bool {
        left === right
    }

    /// Hashes the identity of the observer.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(ObjectIdentifier(self))
    }
}
