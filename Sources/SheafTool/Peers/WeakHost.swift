import Sheaf
import Synchronization

/// A host that belongs to somebody else, and may be gone.
final class WeakHost: Sendable {
    private struct Reference: Sendable {
        weak var host: (any PeerTransportHost)?
    }

    private let reference = Mutex(Reference())

    var host: (any PeerTransportHost)? { reference.withLock(\.host) }

    func set(_ host: (any PeerTransportHost)?) {
        reference.withLock { $0.host = host }
    }
}
