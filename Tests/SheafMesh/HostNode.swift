package import Sheaf
package import SheafReplication

/// A peer without a thread, whose connections a test delivers message by message.
package protocol HostNode {
    var host: Replicator { get }
    var key: [UInt8] { get }
}

extension HostNode {
    /// Connects two peers with optional limited rights at the other; `sendsRights` informs them.
    package func connect(
        _ wire: UInt64, to other: some HostNode, rights: PeerRights? = nil,
        rightsOfOther: PeerRights?, isTold: Bool, at now: UInt64
    ) {
        host.connect(
            wire, expecting: other.key, rights: rightsOfOther, own: isTold ? rights : nil, at: now)
        other.host.connect(
            wire, expecting: key, rights: rights, own: isTold ? rightsOfOther : nil, at: now)
    }
}
