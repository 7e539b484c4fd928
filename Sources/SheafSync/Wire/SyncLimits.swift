import SheafDocument

/// Limits on what a peer may request or send (`format-spec/sync.md`).
///
/// Lengths are in bytes.
package enum SyncLimits {
    /// Maximum length of a frame, type included, after the hello of the peer.
    package static let frameLength = 1 << 20
    /// Maximum length of a frame before the hello of the peer.
    package static let greetingLength = 4 << 10
    /// Maximum length of an uncompressed segment.
    package static let segmentLength = 16 << 20
    /// Maximum number of documents and commits in a segment, together.
    package static let segmentDocuments = 1 << 16
    /// Maximum sum of the counts in a range response, and number of ranges in a request.
    package static let answeredRanges = 1 << 16
    /// Maximum number of cells of a sketch, and of versions named at a time.
    package static let sketchCells = 3 * 1_365
    /// Maximum number of wanted ranges in one message, and in all of a reconciliation.
    package static let wantedRangesInMessage = 127
    package static let wantedRanges = 4_096
    /// Maximum length of a collection name.
    package static let collectionLength = DocumentAddress.maximumCollectionLength
    /// Maximum number of numbered names on a connection, in each direction.
    package static let names = 4_096
    /// Maximum length of an encoded id.
    package static let idLength = DocumentAddress.maximumIDLength
    /// Maximum number of distinct queries of a subscription.
    package static let queries = 4_096
    /// Maximum length of all query texts and arguments of a subscription, together.
    package static let subscriptionLength = 4 << 20
    /// Maximum length of the `complete` list of a subscription.
    package static let completeLength = 512 << 10
    /// Maximum total number of documents of all queries with LIMIT in a subscription.
    package static let rankedDocuments = 1 << 16
    /// Evaluation budget of a peer with limited rights, and its refill per second, in units.
    package static let evaluationUnits = 200_000_000
    package static let evaluationUnitsPerSecond = 20_000_000
    /// Maximum number of units of one query on one document, which cannot be interrupted.
    package static let evaluationUnitsOnDocument = 20_000_000
    /// Units of the write rule per received document that are not charged to the peer.
    package static let ruleUnitsOnDocument = 1_000
    /// Maximum number of units of all peers in one iteration of the replication thread.
    package static let evaluationUnitsPerTurn = 1_000_000
    /// Factors on the budget and its refill for a peer with unlimited rights.
    ///
    /// The refill is slower than a processor's rate, so that the budget can be exhausted.
    package static let unrestrictedFactor = 8
    package static let unrestrictedFactorPerSecond = 2
    /// Burst of subscriptions by a peer, and the interval after which one more is allowed.
    package static let subscriptionsAtOnce = 32
    package static let subscriptionNanoseconds: UInt64 = 500_000_000
    /// Maximum delay of a subscription, in intervals; beyond it the connection ends.
    package static let delayedSubscriptions = 32
    /// Maximum length of a query text, and of its arguments.
    package static let queryLength = 64 << 10
    package static let argumentsLength = 256 << 10
    /// Initial credit for segments, in bytes, and its maximum.
    package static let credit = 4 << 20
    /// Maximum length of the omitted prefix that an id shares with the previous one.
    ///
    /// It bounds the memory for the addresses of a frame.
    static let sharedIDLength = 64
    /// Minimum number of bytes of credit returned at a time.
    static let creditStep = 64 << 10
    /// Maximum number of documents in each wanted part.
    package static let wantedDocuments = 1 << 18
    /// Maximum number of documents named by one `refused`, and by all of one write job.
    package static let refusedDocuments = 256
    package static let refusedOfJob = 4_096
    /// Maximum expanded length of a batch.
    package static let stagedLength = 1 << 30
    /// Length of an attachment id, and maximum length of an attachment.
    package static let attachmentIDLength = AttachmentID.length
    package static let attachmentLength = AttachmentToken.maximumLength
    /// Maximum number of unproven tokens recorded for one change of a document.
    ///
    /// Beyond it no token of the document is valid for peers with limited rights.
    package static let unprovenTokens = AttachmentToken.maximumUnproven
    /// Maximum number of unanswered proof requests.
    package static let askedProofs = 256
    /// Maximum number of attachments whose possession a peer proves at a time.
    package static let possessionChecks = 64
    /// Maximum length of an attachment part: a chunk, or a group of hashes.
    package static let partLength = 1 << 18
    /// Maximum number of requested attachment parts not received yet.
    package static let fetchWindow = 4
    /// Maximum number of attachments that a peer may seek at a time.
    package static let soughtAttachments = 1_024
    /// Maximum number of connections that an attachment request may travel.
    package static let hops = 8
    /// Timeout of the hello.
    package static let greetingNanoseconds: UInt64 = 10_000_000_000
    /// Timeout of an incomplete frame.
    package static let frameNanoseconds: UInt64 = 30_000_000_000
    /// Time without segments after which their history is dropped.
    package static let historyNanoseconds: UInt64 = 30_000_000_000
    /// Idle time after which a peer sends a ping, and after which it closes the connection.
    package static let quietNanoseconds: UInt64 = 30_000_000_000
    package static let idleNanoseconds: UInt64 = 90_000_000_000
}
