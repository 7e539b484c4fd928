import SheafBytes
import SheafDocument
import SheafEngine
import SheafStatements
import SheafStorage
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
        /// The table that contains the connection.
        private unowned let table: ConnectionTable
        /// The lists of the table that contain the connection.
        var marks: ConnectionMarks = []
        /// The index of the connection in the heap of deadlines; nil without a deadline.
        var heapIndex: Int?
        /// Number of unwritten bytes that the table counts for the connection.
        var countedLength = 0
        /// The local commit that the peer has acknowledged, until refusals of it are known.
        var acknowledged: UInt64 = 0
        /// Whether an event other than a frame may have made further steps possible.
        var isChanged = false {
            didSet { if isChanged { table.touch(self) } }
        }
        var access: PeerAccess
        let kind: PeerConnectionKind
        /// The time at which the hello of the peer was received.
        var greetedAt: UInt64?
        private var storedExchange: DocumentExchange
        private var storedReceiver = Receiver()
        private var storedSender: Sender?
        private var storedDelayed: Delayed?

        // Each change of these parts is recorded in the table, so that an event visits only the
        // connections that have changed.

        /// The session, and the encoding of documents with the name numbers of each side.
        var exchange: DocumentExchange {
            _read { yield storedExchange }
            _modify {
                table.touch(self)
                yield &storedExchange
            }
        }

        var receiver: Receiver {
            _read { yield storedReceiver }
            _modify {
                table.touch(self)
                yield &storedReceiver
            }
        }

        var sender: Sender? {
            _read { yield storedSender }
            _modify {
                table.touch(self)
                yield &storedSender
            }
        }

        /// The received subscription that is not active yet.
        var delayed: Delayed? {
            _read { yield storedDelayed }
            _modify {
                table.touch(self)
                yield &storedDelayed
            }
        }

        var session: SyncSession {
            _read { yield storedExchange.session }
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
            guard storedSender != nil else { return false }
            return storedSender?.hasMore == true || storedSender?.preparation != nil
                || !storedReceiver.disputed.isSettled
                || storedSender?.limited.isJudging == true
        }
        /// Whether effects of the session, or steps that the state permits, are pending.
        var isPending: Bool { isChanged || storedExchange.session.hasEffects }
        /// Whether a commit that becomes visible to readers may permit further steps.
        var followsCommits: Bool {
            storedSender != nil || storedReceiver.awaitsComparison
                || !storedReceiver.written.isEmpty || !storedReceiver.waiting.isEmpty
                || !storedReceiver.announced.messages.isEmpty
        }
        /// Whether the connection has a sender that has not sent a commit.
        func isBehind(_ commit: CommitID) -> Bool {
            (storedSender?.sent ?? commit) < commit
        }
        /// Number of bytes of complete batches that are not written.
        var unwrittenLength: Int { storedReceiver.lengthInMemory }
        /// The time at which a tick must visit the connection; nil if no timer is pending.
        var deadline: UInt64? {
            var first = storedExchange.session.deadline ?? .max
            // Announcements do not time out during a write: the job may contain their documents.
            if !storedReceiver.isWriting {
                first = min(first, storedReceiver.announced.deadline ?? .max)
            }
            first = min(first, storedReceiver.delayedSubscription?.turn ?? .max)
            first = min(first, storedDelayed?.turn ?? .max, storedSender?.echoDue ?? .max)
            return first == .max ? nil : first
        }

        init(
            _ number: UInt64, in table: ConnectionTable, nonce: UInt64, at address: String,
            _ session: SyncSession, _ access: PeerAccess, _ kind: PeerConnectionKind,
            expecting key: [UInt8]?, at now: UInt64
        ) {
            self.table = table
            self.access = access
            (self.address, connectedAt, expectedKey) = (address, now, key)
            self.nonce = nonce
            self.kind = kind
            self.number = number
            storedExchange = DocumentExchange(session)
        }
    }
}
