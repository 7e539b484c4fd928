public import Dispatch
public import Foundation
import Sheaf
import Synchronization

/// The presence of peers: all peers that can be reached over any number of connections.
public final class DittoPresence: Sendable {
    private let peer: Peer?
    /// The transport; nil if the peer was created elsewhere.
    private let network: DittoNetwork?
    private let errorHandler: ErrorHandler
    /// A random key shown for a database without peers.
    private let lonelyKey = PeerKey.random()
    private let current = Mutex(Current())

    /// The handler in a struct: a bare closure in a `Mutex` gains a thunk on each access.
    private struct Current: Sendable {
        var handler: DittoConnectionRequestHandler?
    }

    init(_ peer: Peer?, _ network: DittoNetwork?, _ errorHandler: ErrorHandler) {
        self.peer = peer
        self.network = network
        self.errorHandler = errorHandler
    }

    /// All peers that can be reached, and their connections.
    public var graph: DittoPresenceGraph {
        peer.map { DittoPresenceGraph($0.presence.graph) } ?? DittoPresenceGraph(alone: lonelyKey)
    }

    /// Calls `didChangeHandler` with the graph immediately and after each change.
    ///
    /// The observation lasts as long as the observer is retained.
    public func observe(
        deliverOn queue: DispatchQueue = .main,
        didChangeHandler: @escaping (_ graph: DittoPresenceGraph) -> Void
    ) -> DittoObserver {
        // Handlers of the reference system are not `Sendable`. This one is called by one thread at
        // a time, on the queue chosen by the caller.
        nonisolated(unsafe) let handler = didChangeHandler
        let observer = DittoObserver()
        let deliver: @Sendable (DittoPresenceGraph) -> Void = { [weak observer] graph in
            queue.async { [weak observer] in
                guard let observer, !observer.isStopped else { return }
                handler(graph)
            }
        }
        if let peer {
            observer.hold(peer.presence.observe { deliver(DittoPresenceGraph($0)) })
        } else {
            deliver(graph)
        }
        return observer
    }

    // MARK: Metadata

    /// The metadata that this peer publishes to all others.
    public var peerMetadata: [String: Any?] { peer?.presence.metadata.dittoValue ?? [:] }

    /// Publishes metadata to all peers: at most 4,096 bytes as JSON, readable by every peer.
    public func setPeerMetadata(_ metadata: [String: Any?]) throws {
        let object: Object
        do throws(Unbridgeable) {
            object = try Object(bridging: metadata)
        } catch {
            throw DittoError.validationError(
                reason: .notJSONCompatible(message: "invalid metadata: \(error)"))
        }
        try set(object)
    }

    /// The published metadata as JSON.
    public var peerMetadataJSONData: Data {
        Data(Value.object(peer?.presence.metadata ?? Object()).json.utf8)
    }

    /// Publishes metadata to all peers: a JSON object.
    public func setPeerMetadataJSONData(_ data: Data) throws {
        guard case .object(let object)? = try? Value(jsonBytes: [UInt8](data)) else {
            throw DittoError.validationError(
                reason: .invalidJSON(message: "the metadata of a peer must be a JSON object"))
        }
        try set(object)
    }

    private func set(_ metadata: Object) throws {
        guard let peer else { throw DittoError.withoutPeers("the metadata of a peer") }
        do {
            try peer.presence.setMetadata(metadata)
        } catch let error as StoreError where error.reason == .limit {
            throw DittoError.validationError(reason: .sizeLimitExceeded(message: error.description))
        } catch let error as StoreError {
            throw DittoError.validationError(reason: .notJSONCompatible(message: error.description))
        }
    }

    // MARK: Connection requests

    /// The handler that accepts or denies connections.
    ///
    /// A connection is denied after 10 seconds without a decision. Without a handler, all
    /// authenticated peers of the database are accepted.
    public var connectionRequestHandler: DittoConnectionRequestHandler? {
        get { current.withLock { $0.handler } }
        set {
            guard let network else {
                let what = peer == nil ? "a connection request" : "a peer created elsewhere"
                return errorHandler.report(
                    peer == nil
                        ? DittoError.withoutPeers(what)
                        : DittoError.unsupported(
                            "\(what) has its own transports; use its "
                                + "presence.onConnectionRequest(_:)"))
            }
            current.withLock { $0.handler = newValue }
            guard let newValue else { return network.requests.handler = nil }
            network.requests.handler = { identity, _ in
                await newValue(DittoConnectionRequest(identity.key, identity.metadata)) == .allow
            }
        }
    }
}

/// A handler that accepts or denies a connection.
public typealias DittoConnectionRequestHandler =
    @Sendable (_ request: DittoConnectionRequest) async -> DittoConnectionRequestAuthorization

/// The decision on a connection.
public enum DittoConnectionRequestAuthorization: Hashable, Sendable {
    /// The connection is accepted.
    case allow
    /// The connection is closed.
    case deny
}

/// A connection request of a peer that has proven its key.
public struct DittoConnectionRequest: Sendable {
    /// The key of the peer.
    public let peerKeyString: String
    private let metadata: Object

    init(_ key: PeerKey, _ metadata: Object) {
        peerKeyString = key.description
        self.metadata = metadata
    }

    /// The transport of the connection.
    public var connectionType: DittoConnectionType { .accessPoint }

    /// The metadata that the peer has sent on this connection.
    public var peerMetadata: [String: Any?] { metadata.dittoValue }

    /// The metadata as JSON.
    public var peerMetadataJSONData: Data { Data(Value.object(metadata).json.utf8) }

    /// Metadata of an identity service; always empty, since there is none.
    public var identityServiceMetadata: [String: Any?] { [:] }

    /// Metadata of an identity service as JSON; always an empty object.
    public var identityServiceMetadataJSONData: Data { Data("{}".utf8) }
}

/// An observation of presence; it lasts until it is stopped or deallocated.
public final class DittoObserver: Sendable {
    private struct State: Sendable {
        var observer: PresenceObserver?
        var isStopped = false
    }

    private let state = Mutex(State())

    init() {}

    deinit {
        stop()
    }

    func hold(_ observer: PresenceObserver) {
        let isStopped = state.withLock { state in
            state.observer = observer
            return state.isStopped
        }
        if isStopped { observer.cancel() }
    }

    /// Whether the observation has been stopped.
    public var isStopped: Bool { state.withLock(\.isStopped) }

    /// Stops the observation: no call starts after this returns.
    ///
    /// Further calls have no effect.
    public func stop() {
        let observer = state.withLock { state in
            state.isStopped = true
            return state.observer
        }
        observer?.cancel()
    }
}
