/// Numbers of documents that a peer has sent and received since it was opened.
public struct SyncStatistics: Hashable, Sendable {
    /// Number of documents sent, including repetitions.
    public package(set) var documentsSent: UInt64 = 0
    /// Number of documents received and written, or found to be present already.
    public package(set) var documentsReceived: UInt64 = 0
    /// Number of received documents that changed the local state.
    public package(set) var documentsApplied: UInt64 = 0
}

extension PeerSync {
    /// The numbers of documents sent and received since the peer was opened.
    ///
    /// A received document that changes nothing had arrived from another peer before. The call
    /// blocks until the replication thread responds.
    public var statistics: SyncStatistics {
        get throws { try request { $0.statistics } }
    }
}
