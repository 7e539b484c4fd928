/// How large things may be; each limit has a name, and errors say it.
package enum Limits {
    /// The bytes of a key: at least 1, and the first of them neither 0 nor 255: those are the tree's.
    ///
    /// The tree holds removed keys behind such a zero, so its own limit is larger.
    package static let maximumKeyLength = 1_024
    /// The bytes of a link, the first of which is 255.
    package static let maximumLinkLength = BTree.maximumKeyCount
    /// The bytes of a segment file: offsets have 32 bits.
    package static let maximumFileLength = Int(UInt32.max)
    /// The bytes of a payload.
    package static let maximumPayloadLength = 32 << 20
    /// The operations that a key may stand on, its newest one included: more are not read.
    package static let maximumChainLength = 1 << 16
    /// The encoded bytes of one commit.
    package static let maximumCommitLength = 1 << 30
    /// The operations of one commit.
    package static let maximumCommitOperations = 1 << 24
    /// Commits that were appended and not yet written may take this many bytes; with relaxed
    /// durability a writer then waits for the disk.
    package static let maximumPendingLength = 64 << 20
    /// The segments that a store may have ever had: enough numbers are left for the longest commit.
    package static let maximumSegments = UInt32.max - UInt32(maximumCommitOperations) - 1
    /// A store has at most this many files; more in a directory are not looked at.
    package static let maximumFiles = 1 << 22
}
