import SheafReplication
import SheafSync
import SheafTransport
import Synchronization

/// Passing the addresses of peers between the transports and presence.
extension PeerLoop {
    /// Publishes the addresses of the transports in the record of this peer.
    func publishAddresses(of replicator: Replicator) {
        replicator.publish(
            transports.flatMap(\.addresses).compactMap { address in
                PeerRecord.Address(address.bytes, port: address.port)
            })
    }

    /// Passes the addresses that other peers have published to the transports, if they changed.
    func proposeAddresses(of replicator: Replicator) {
        let known = replicator.knownAddresses
        let isNew = proposed.withLock { proposed in
            defer { proposed = known }
            return proposed != known
        }
        guard isNew else { return }
        var peers: [PeerKey: [PeerAddress]] = [:]
        for (key, addresses) in known {
            peers[PeerKey(unchecked: key)] = addresses.compactMap { address in
                PeerAddress(address.bytes, port: address.port)
            }
        }
        for transport in transports { transport.propose(peers) }
    }
}
