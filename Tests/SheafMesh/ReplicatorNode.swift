package import SheafReplication
package import SheafTransport

/// A peer without a thread, whose connections a test delivers message by message.
package protocol ReplicatorNode {
    var replicator: Replicator { get }
    var key: [UInt8] { get }
}

extension ReplicatorNode {
    /// Connects two peers with optional limited rights at the other; `sendsRights` informs them.
    package func connect(
        _ wire: UInt64, to other: some ReplicatorNode, rights: PeerRights? = nil,
        rightsOfOther: PeerRights?, sendsRights: Bool, at now: UInt64
    ) {
        replicator.connect(
            wire, expecting: other.key, rights: rightsOfOther, own: sendsRights ? rights : nil,
            at: now)
        other.replicator.connect(
            wire, expecting: key, rights: rights, own: sendsRights ? rightsOfOther : nil, at: now)
    }
}
