/// Size limits of the store; an error for a violated limit contains its name.
package enum Limits {
    /// The maximum length of a key in bytes.
    ///
    /// A key has at least one byte, and its first byte is neither 0 nor 255, which the tree
    /// reserves. The tree's own limit is larger, since removed keys have a zero byte as prefix.
    package static let maximumKeyLength = 1_024
    /// The maximum length of an index entry's key in bytes; its first byte is 255.
    package static let maximumIndexEntryLength = BTree.maximumKeyCount
    /// The maximum length of a segment file in bytes: offsets have 32 bits.
    package static let maximumFileLength = Int(UInt32.max)
    /// The maximum length of the records in a base file in bytes.
    ///
    /// It is half of `maximumFileLength`, because entries and the directory are added to it.
    package static let maximumBaseFileLength = maximumFileLength / 2
    /// The maximum length of a payload in bytes.
    package static let maximumPayloadLength = 32 << 20
    /// The maximum number of operations in the chain of a key, including the newest.
    package static let maximumChainLength = 1 << 16
    /// The maximum encoded length of a commit in bytes.
    package static let maximumCommitLength = 1 << 30
    /// The maximum number of operations in a commit.
    package static let maximumCommitOperations = 1 << 24
    /// The maximum number of appended bytes not yet written to disk.
    ///
    /// With relaxed durability, a writer that exceeds it waits for the disk.
    package static let maximumPendingLength = 64 << 20
    /// The highest segment number, which leaves enough numbers for the longest commit.
    package static let maximumSegments = UInt32.max - UInt32(maximumCommitOperations) - 1
    /// The maximum number of files in the directory of a store, including foreign ones.
    package static let maximumFiles = 1 << 22

    /// Throws if the directory of a store has too many files.
    package static func check(fileCount: Int) throws(StorageError) {
        guard fileCount <= maximumFiles else {
            throw .limit(name: "maximumFiles", value: fileCount, limit: maximumFiles)
        }
    }

    /// Throws if the records of a base file are too long.
    package static func check(baseFileLength: Int) throws(StorageError) {
        guard baseFileLength <= maximumBaseFileLength else {
            throw .limit(
                name: "maximumBaseFileLength", value: baseFileLength, limit: maximumBaseFileLength)
        }
    }
}
