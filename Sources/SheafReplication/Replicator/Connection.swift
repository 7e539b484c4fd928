import SheafBytes
import SheafDocument
import SheafEngine
import SheafStatements
import SheafSync
import SheafTransport

extension Replicator {
    /// The state of one connection.
    final class Connection {
        let number: UInt64
        /// Random number of the connection, sent in the local hello.
        let nonce: UInt64
        let address: String
        let connectedAt: UInt64
        /// The peer key proven by the transport.
        let expectedKey: [UInt8]?
        /// The session, and the encoding of documents with the name numbers of each side.
        var exchange: DocumentExchange
        /// The local commit that the peer has acknowledged, until refusals of it are known.
        var acknowledged: UInt64 = 0
        /// Whether an event other than a frame may have made further steps possible.
        var isChanged = false
        var access: PeerAccess
        let kind: PeerConnectionKind
        /// The time at which the hello of the peer was received.
        var greetedAt: UInt64?
        var receiver = Receiver()
        var sender: Sender?
        /// The received subscription that is not active yet.
        var delayed: Delayed?

        var session: SyncSession {
            _read { yield exchange.session }
            _modify { yield &exchange.session }
        }

        /// The progress last recorded in the status of the peer.
        var progress: (receiving: SyncProgress?, sending: SyncProgress?)

        /// Whether the peer may read only some documents.
        var isLimited: Bool { access.isLimited }
        /// Whether the documents that this peer may not send are known.
        ///
        /// Those that it subscribes to are found by its own reconciliation, which may end after the
        /// peer has acknowledged all that was sent.
        var knowsRefusals: Bool {
            guard access.sendable != nil, receiver.generation > 0 else { return true }
            return (receiver.hasCaughtUp || receiver.reached > 0) && !receiver.disputed.isPending
        }
        /// Whether work for the peer remains for the next iteration.
        var isUnfinished: Bool {
            sender?.hasMore == true || sender?.preparation != nil
                || (sender != nil && !receiver.disputed.isSettled)
                || sender?.limited.isJudging == true
        }

        init(
            _ number: UInt64, nonce: UInt64, at address: String, _ session: SyncSession,
            _ access: PeerAccess, _ kind: PeerConnectionKind, expecting key: [UInt8]?,
            at now: UInt64
        ) {
            self.access = access
            (self.address, connectedAt, expectedKey) = (address, now, key)
            self.nonce = nonce
            self.kind = kind
            self.number = number
            exchange = DocumentExchange(session)
        }
    }
}
