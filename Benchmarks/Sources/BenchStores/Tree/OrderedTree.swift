/// A sorted in-memory map from 24-byte keys to 8-byte values.
///
/// Each method loops internally, so that dispatch through the protocol costs nothing measurable.
protocol OrderedTree: AnyObject {
    /// Inserts the first `count` entries, as one unpublished change.
    func insert(_ entries: Entries, count: Int) throws

    /// Publishes the inserted entries to snapshots.
    func publish() throws

    /// Finds `count` existing keys; returns the sum of their values.
    func find(_ entries: Entries, count: Int) throws -> UInt64

    /// Scans `length` entries from each of `count` existing keys, reading keys and values.
    func walk(_ entries: Entries, count: Int, length: Int) throws -> UInt64

    /// Counts the keys not below `lower`.
    func count(from lower: Key) throws -> Int

    /// Takes and drops `count` snapshots; returns a value that depends on each.
    func takeSnapshots(_ count: Int) throws -> UInt64

    /// Returns the bytes of memory allocated by the tree.
    func byteCount() throws -> Int

    /// Releases all resources.
    func close()
}

/// A tree implementation.
struct TreePeer: Sendable {
    let name: String
    /// The factory of empty trees; the directory is empty and on a memory file system.
    let make: @Sendable (_ directory: String) throws -> any OrderedTree
}
