/// What a peer has told others, and heard from them, since it was opened.
public struct SyncStatistics: Hashable, Sendable {
    /// Documents that went out, as often as they did.
    public package(set) var documentsSent: UInt64 = 0
    /// Documents that came in and were written, or found to be here.
    public package(set) var documentsReceived: UInt64 = 0
    /// Those of them that said something new.
    public package(set) var documentsTaken: UInt64 = 0
}

extension PeerSync {
    /// What was sent and received so far: what came and was not taken had come before, from somebody else.
    ///
    /// The thread is kept until the peer answers.
    public var statistics: SyncStatistics {
        get throws { try ask { $0.statistics } }
    }
}
