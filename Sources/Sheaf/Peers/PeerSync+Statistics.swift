public import SheafReplication

extension PeerSync {
    /// The numbers of documents sent and received since the peer was opened.
    ///
    /// A received document that changes nothing was known before, for example from another peer.
    /// The call blocks until the replication thread responds.
    public var statistics: SyncStatistics {
        get throws { try request { $0.statistics } }
    }
}
