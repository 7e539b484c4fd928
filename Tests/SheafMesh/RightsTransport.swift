package import SheafTransport
import Synchronization

/// A transport whose connections have limited rights at both ends.
///
/// `rights` limits the peers that connect, and `own` are this peer's rights at the other end.
package final class RightsTransport: PeerTransport {
    private let base: any PeerTransport
    private let host: RecordingHost

    package init(
        _ base: any PeerTransport, ofOthers rights: PeerRights? = nil, own: PeerRights? = nil
    ) {
        self.base = base
        host = RecordingHost(rights, own)
    }

    package func start(_ host: any PeerTransportHost) throws {
        self.host.real.withLock { $0 = host }
        try base.start(self.host)
    }

    package func stop() { base.stop() }

    private final class RecordingHost: PeerTransportHost {
        let real = Mutex<(any PeerTransportHost)?>(nil)
        private let rights: PeerRights?
        private let own: PeerRights?

        init(_ rights: PeerRights?, _ own: PeerRights?) {
            (self.rights, self.own) = (rights, own)
        }

        func connected(_ connection: any PeerConnection) -> (any PeerConnectionHandler)? {
            real.withLock { $0 }?.connected(Connection(connection, rights, own))
        }

        func report(_ event: PeerTransportEvent) { real.withLock { $0 }?.report(event) }
    }

    private final class Connection: PeerConnection {
        private let base: any PeerConnection
        let remote: PeerIdentity
        let ownRights: PeerRights?

        init(_ base: any PeerConnection, _ rights: PeerRights?, _ own: PeerRights?) {
            self.base = base
            remote = PeerIdentity(
                key: base.remote.key, address: base.remote.address, rights: rights)
            ownRights = own
        }

        var kind: PeerConnectionKind { base.kind }
        func setReading(_ isReading: Bool) { base.setReading(isReading) }
        var queuedLength: Int { base.queuedLength }
        func send(_ bytes: [UInt8]) { base.send(bytes) }
        func close(because reason: String) { base.close(because: reason) }
    }
}
