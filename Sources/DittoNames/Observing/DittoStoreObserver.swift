import Sheaf
import Synchronization

/// Somebody who is told what the result of a query is, and what it becomes.
///
/// It goes on until it is cancelled, or its database is closed or let go of; nobody has to hold it.
public final class DittoStoreObserver: Sendable {
    /// The query as it was handed over.
    public let queryString: String
    /// Why the query cannot be observed; nil for an observer that began.
    public let error: (any Error)?
    private let values: [String: Value]
    /// None where the query could not be observed.
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

    /// Whether nothing more will be delivered.
    public var isCancelled: Bool { delivery?.isCancelled ?? true }

    /// Stops the delivery: no call begins after this has returned.
    ///
    /// Further calls do nothing.
    public func cancel() {
        guard let delivery, !delivery.isCancelled else { return }
        delivery.cancel()
        onCancel(self)
    }
}

extension DittoStoreObserver: Hashable {
    public static func == (left: DittoStoreObserver, right: DittoStoreObserver) -> Bool {
        left === right
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(ObjectIdentifier(self))
    }
}
