/// How much of anything a remote peer may ask for or send (`format-spec/sync.md`, limits).
package enum SyncLimits {
    /// The longest frame, with its type, from a peer that has said who it is.
    package static let frameLength = 1 << 20
    /// The longest frame before that.
    package static let greetingLength = 4 << 10
    /// The longest segment before it is compressed.
    package static let segmentLength = 16 << 20
    /// How many documents and commits a segment has, together.
    package static let segmentDocuments = 1 << 16
    /// How many ranges one answer may tell of.
    package static let answeredRanges = 1 << 16
    /// How long the name of a collection may be.
    package static let collectionLength = 1 << 10
    /// How many names have numbers on a connection, in each direction.
    package static let names = 4_096
    /// How long an id may be.
    package static let idLength = 4 << 10
    /// Maximum number of different queries that a peer subscribes to.
    package static let queries = 4_096
    /// Maximum number of bytes of all their texts and arguments together.
    package static let subscriptionLength = 4 << 20
    /// Maximum number of bytes of the documents that a `subscribe` names as needed whole.
    package static let wholeLength = 512 << 10
    /// How many documents the queries of a subscription may have that have a LIMIT, together.
    package static let rankedDocuments = 1 << 16
    /// Units of evaluation that a peer with limited rights can use up at once, and those added each second.
    package static let evaluationUnits = 200_000_000
    package static let evaluationUnitsPerSecond = 20_000_000
    /// Maximum number of units for one query on one document, which cannot be interrupted.
    package static let evaluationUnitsOnDocument = 20_000_000
    /// Number of units of the write rule for each received document that do not lower the budget of the peer.
    package static let ruleUnitsOnDocument = 1_000
    /// Units that one turn of the loop uses for all other peers together before it handles other events.
    package static let evaluationUnitsPerTurn = 1_000_000
    /// How many times as many units a peer has at once that may read everything, and how many times as many are
    /// added each second: less than a processor uses up, so that a budget comes to its end.
    package static let unrestrictedFactor = 8
    package static let unrestrictedFactorPerSecond = 2
    /// How often a peer may subscribe anew at once, and after what time once more.
    package static let subscriptionsAtOnce = 32
    package static let subscriptionNanoseconds: UInt64 = 500_000_000
    /// How often it may do so before its turn has come.
    package static let delayedSubscriptions = 32
    /// Maximum number of bytes of the text of a query, and of its arguments.
    package static let queryLength = 64 << 10
    package static let argumentsLength = 256 << 10
    /// How many bytes of segments may be sent before any credit came, and more than was used up.
    package static let credit = 4 << 20
    /// Maximum number of documents in each part of what is wanted.
    package static let wantedDocuments = 1 << 18
    /// Maximum number of documents that one `refused` names, and that are named of one write job.
    package static let refusedDocuments = 256
    package static let refusedOfJob = 4_096
    /// How many bytes of one step may wait for its end, expanded.
    package static let stagedLength = 1 << 30
    /// How long the id of an attachment is, and how long an attachment may be.
    package static let attachmentIDLength = 32
    package static let attachmentLength = 1 << 36
    /// Maximum number of tokens without proof that are noted of one change of a document; with more, no token
    /// of the document counts for peers with limited rights.
    package static let unprovenTokens = 1_024
    /// Maximum number of tokens of which one side asks at a time whether they are proven at the other one.
    package static let askedProofs = 256
    /// Maximum number of attachments that a peer proves at a time to possess.
    package static let possessionChecks = 64
    /// How long a part of an attachment is, be it a chunk or hashes.
    package static let partLength = 1 << 18
    /// How many parts may be asked for before the first of them has come.
    package static let fetchWindow = 4
    /// How many attachments one side may seek at a time.
    package static let soughtAttachments = 1_024
    /// Over how many connections a wish for an attachment may go.
    package static let hops = 8
    /// Who has not said who it is by then is sent away.
    package static let greetingNanoseconds: UInt64 = 10_000_000_000
    /// A frame that has begun is there by then.
    package static let frameNanoseconds: UInt64 = 30_000_000_000
    /// A side that has heard nothing for so long asks for a word, and ends the connection behind the
    /// second time.
    package static let quietNanoseconds: UInt64 = 30_000_000_000
    package static let idleNanoseconds: UInt64 = 90_000_000_000
}
