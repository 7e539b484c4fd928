import SheafTransport

/// The connection that the transport passes to its host: the send queue and the remote identity.
final class TCPConnection: PeerConnection {
    let remote: PeerIdentity
    let ownRights: PeerRights?
    private let identifier: UInt64
    private let sender: ConnectionSender
    private let mailbox: Mailbox

    init(
        _ remote: PeerIdentity, own ownRights: PeerRights?, _ channel: UInt64,
        _ outlet: ConnectionSender, _ mailbox: Mailbox
    ) {
        self.remote = remote
        self.ownRights = ownRights
        identifier = channel
        self.sender = outlet
        self.mailbox = mailbox
    }

    func send(_ bytes: [UInt8]) {
        guard sender.queue.append(bytes) == .attention else { return }
        if !sender.sendAtOnce() { mailbox.post(.flush(connection: identifier)) }
    }

    func setReading(_ isReading: Bool) {
        guard sender.setReading(isReading) else { return }
        mailbox.post(.read(connection: identifier))
    }

    var kind: PeerConnectionKind { .tcp }
    var queuedLength: Int { sender.queue.length }

    func close(because reason: String) {
        if sender.queue.close(because: reason) == .attention {
            mailbox.post(.flush(connection: identifier))
        }
    }
}
