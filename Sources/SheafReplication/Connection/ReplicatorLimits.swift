import SheafSync

/// Limits of the replicator on lengths, counts and evaluation units.
package struct ReplicatorLimits: Sendable {
    /// Target number of bytes in one part of a long batch.
    package var part = SyncSession.segmentTarget
    /// Number of bytes of unwritten batches kept in memory per peer; the rest is on disk.
    package var inMemory = 20 << 20
    /// Number of bytes received from all peers and not written beyond which no more are read.
    package var unwritten = 256 << 20
    /// Number of bytes beyond which a batch is split, which bounds the memory for writing it.
    package var step = 256 << 20

    /// The same for documents that are sent completely, as in a first sync.
    package var completeStep = 1 << 20
    /// Number of bytes of each further batch after such a split.
    ///
    /// These documents are visible as they arrive, and are not sent again after an interruption.
    package var furtherStep = 512 << 10
    /// Maximum number of bytes of such documents sent and not yet written by the peer, before
    /// compression.
    ///
    /// A newer commit reaches the peer only after these.
    package var completeInFlight = 1 << 20

    /// Evaluation units per iteration of the replication thread, shared by all peers.
    package var evaluated = SyncLimits.evaluationUnitsPerTurn

    /// Maximum number of differing documents requested at a time.
    package var wanted = SyncLimits.wantedDocuments

    /// Maximum number of changed documents queued for a peer with limited rights.
    ///
    /// Beyond it, or beyond `limitedChangeBytes` bytes of keys and former states, the peers
    /// reconcile.
    package var limitedChanges = 1 << 16
    package var limitedChangeBytes = 16 << 20

    /// Maximum number of read repairs of one peer with limited rights, and of their versions.
    package var limitedRepairs = LimitedPeer.maximumRepairs

    /// The supported versions of the protocol.
    package var versions = Hello.supportedVersions

    /// Maximum number of attachment bytes kept for each peer with limited rights.
    package var receivedAttachments = 1 << 30

    package init() {}
}
