public import Dispatch
public import Foundation
import Sheaf
import Synchronization

/// Who is there: all peers that can be reached, over any number of connections.
public final class DittoPresence: Sendable {
    private let peer: Peer?
    /// None where the transports are somebody else's.
    private let network: DittoNetwork?
    private let complaints: Complaints
    /// By what a database without peers is known: to nobody.
    private let lonelyKey = PeerKey.random()
    private let current = Mutex(Current())

    /// A closure that is in no type of its own would be wrapped once more with each look at it.
    private struct Current: Sendable {
        var handler: DittoConnectionRequestHandler?
    }

    init(_ peer: Peer?, _ network: DittoNetwork?, _ complaints: Complaints) {
        self.peer = peer
        self.network = network
        self.complaints = complaints
    }

    /// All peers that can be reached, and how they are connected.
    public var graph: DittoPresenceGraph {
        peer.map { DittoPresenceGraph($0.presence.graph) } ?? DittoPresenceGraph(alone: lonelyKey)
    }

    /// Tells `didChangeHandler` who is there, at once and after each change, as long as somebody holds what
    /// is returned.
    public func observe(
        deliverOn queue: DispatchQueue = .main,
        didChangeHandler: @escaping (_ graph: DittoPresenceGraph) -> Void
    ) -> DittoObserver {
        // Handlers of the reference system change variables around them, and cannot be `Sendable`. One
        // call at a time is made, on a queue that the caller has chosen for that.
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

    /// What this peer says of itself to all others.
    public var peerMetadata: [String: Any?] { peer?.presence.metadata.dittoValue ?? [:] }

    /// Says something of this peer to all others: at most 4,096 bytes as JSON, and no secrets.
    public func setPeerMetadata(_ metadata: [String: Any?]) throws {
        let object: Object
        do throws(Unbridgeable) {
            object = try Object(bridging: metadata)
        } catch {
            throw DittoError.validationError(
                reason: .notJSONCompatible(message: "the metadata \(error)"))
        }
        try set(object)
    }

    /// The same as JSON.
    public var peerMetadataJSONData: Data {
        Data(Value.object(peer?.presence.metadata ?? Object()).json.utf8)
    }

    /// Says something of this peer to all others: a JSON object.
    public func setPeerMetadataJSONData(_ data: Data) throws {
        guard case .object(let object)? = try? Value(jsonBytes: [UInt8](data)) else {
            throw DittoError.validationError(
                reason: .invalidJSON(message: "the metadata of a peer has to be a JSON object"))
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

    // MARK: Who may connect

    /// Is asked of each connection whether it may be used; who does not answer for 10 seconds refuses.
    ///
    /// Without one all may connect who have proven that they belong to the database.
    public var connectionRequestHandler: DittoConnectionRequestHandler? {
        get { current.withLock { $0.handler } }
        set {
            guard let network else {
                let what = peer == nil ? "a connection request" : "a peer that was made elsewhere"
                return complaints.complain(
                    peer == nil
                        ? DittoError.withoutPeers(what)
                        : DittoError.unsupported(
                            "\(what) has transports of its own; use its "
                                + "presence.onConnectionRequest(_:)"))
            }
            current.withLock { $0.handler = newValue }
            guard let newValue else { return network.requests.handler = nil }
            network.requests.handler = { identity, _ in
                guard let key = PeerKey(identity.key) else { return false }
                return await newValue(DittoConnectionRequest(key, identity.metadata)) == .allow
            }
        }
    }
}

/// Is asked whether a connection may be used.
public typealias DittoConnectionRequestHandler =
    @Sendable (_ request: DittoConnectionRequest) async -> DittoConnectionRequestAuthorization

/// Whether a connection may be used.
public enum DittoConnectionRequestAuthorization: Hashable, Sendable {
    case allow, deny
}

/// A peer that would be connected with, and has proven its key.
public struct DittoConnectionRequest: Sendable {
    /// By what the peer is known.
    public let peerKeyString: String
    private let metadata: Object

    init(_ key: PeerKey, _ metadata: Object) {
        peerKeyString = key.description
        self.metadata = metadata
    }

    /// What carries the connection.
    public var connectionType: DittoConnectionType { .accessPoint }

    /// What the peer says of itself; it has sent that over this connection, with the key that it has proven.
    public var peerMetadata: [String: Any?] { metadata.dittoValue }

    /// The same as JSON.
    public var peerMetadataJSONData: Data { Data(Value.object(metadata).json.utf8) }

    /// What a cloud says of the peer: there is none, so this is empty.
    public var identityServiceMetadata: [String: Any?] { [:] }

    /// The same as JSON: an empty object.
    public var identityServiceMetadataJSONData: Data { Data("{}".utf8) }
}

/// Somebody who is told something, as long as somebody holds it and it is not stopped.
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

    /// Whether nothing more will be told.
    public var isStopped: Bool { state.withLock(\.isStopped) }

    /// Stops it: no call begins after this has returned.
    ///
    /// Further calls do nothing.
    public func stop() {
        let observer = state.withLock { state in
            state.isStopped = true
            return state.observer
        }
        observer?.cancel()
    }
}
