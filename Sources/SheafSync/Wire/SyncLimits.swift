/// How much of anything a remote peer may ask for or send (`format-spec/sync.md`, limits).
package enum SyncLimits {
    /// The longest frame, with its type, from a peer that has said who it is.
    package static let frameLength = 1 << 20
    /// The longest frame before that.
    package static let greetingLength = 4 << 10
    /// The longest segment before it is compressed.
    package static let segmentLength = 16 << 20
    /// How many ranges one answer may tell of.
    package static let answeredRanges = 1 << 16
    /// How long the name of a collection may be.
    package static let collectionLength = 1 << 10
    /// How long an id may be.
    package static let idLength = 4 << 10
}
