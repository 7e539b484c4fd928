public import SheafStatements

/// The observation of a query by a callback or a sequence; it ends when the observer is released.
///
/// The first result is delivered immediately, then one after each commit that changes it. A slow
/// consumer gets the newest result and misses those in between. Nothing is delivered after
/// `cancel`, nor after the last reference to the observer is released: keep it as long as results
/// are wanted. The store does not retain it.
public final class StoreObserver: Sendable {
    package let registration: ObserverRegistration

    /// Creates the handle of a registration; its release cancels the registration.
    init(_ registration: ObserverRegistration) {
        self.registration = registration
        registration.observer = self
    }

    deinit {
        registration.cancel()
    }

    /// The observed query.
    public var query: DQL { registration.query }

    /// Whether nothing more will be delivered.
    public var isCancelled: Bool { registration.isCancelled }

    /// Stops the delivery: no call begins after this has returned.
    ///
    /// It does not wait: a callback that is already running continues. Further calls do nothing.
    public func cancel() {
        registration.cancel()
    }
}
