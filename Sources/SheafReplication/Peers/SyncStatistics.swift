/// Numbers of documents that a peer has sent and received since it was opened.
public struct SyncStatistics: Hashable, Sendable {
    /// Number of documents sent, including repetitions.
    public package(set) var documentsSent: UInt64 = 0
    /// Number of documents received in applied batches, including those that changed nothing.
    public package(set) var documentsReceived: UInt64 = 0
    /// Number of received documents that changed the local state.
    public package(set) var documentsApplied: UInt64 = 0
}
