import Sheaf

/// One end of a connection as its peer sees it: a queue, and who is at the other end.
final class TCPConnection: PeerConnection {
    let remote: PeerIdentity
    let ownRights: PeerRights?
    private let identifier: UInt64
    private let queue: OutgoingQueue
    private let mailbox: Mailbox

    init(
        _ remote: PeerIdentity, own ownRights: PeerRights?, _ channel: UInt64,
        _ queue: OutgoingQueue, _ mailbox: Mailbox
    ) {
        self.remote = remote
        self.ownRights = ownRights
        identifier = channel
        self.queue = queue
        self.mailbox = mailbox
    }

    func send(_ bytes: [UInt8]) {
        if queue.append(bytes) == .attention { mailbox.post(.flush(connection: identifier)) }
    }

    var kind: PeerConnectionKind { .tcp }
    var queuedLength: Int { queue.length }

    func close() {
        if queue.close() == .attention { mailbox.post(.flush(connection: identifier)) }
    }
}
