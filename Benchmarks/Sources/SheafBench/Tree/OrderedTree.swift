/// A sorted map in memory from 24-byte keys to 8-byte values.
///
/// The loops are inside, so that a call through the protocol costs nothing measurable.
protocol OrderedTree: AnyObject {
    /// Inserts the first `count` entries, as one unpublished change.
    func insert(_ entries: Entries, count: Int) throws

    /// Makes what was inserted visible to snapshots.
    func publish() throws

    /// Finds `count` keys that are there; returns the sum of their values.
    func find(_ entries: Entries, count: Int) throws -> UInt64

    /// Walks `count` times over `length` entries from a key that is there, keys and values both.
    func walk(_ entries: Entries, count: Int, length: Int) throws -> UInt64

    /// Counts the keys from `lower` on.
    func count(from lower: Key) throws -> Int

    /// Takes and drops `count` snapshots; returns something that depends on each.
    func takeSnapshots(_ count: Int) throws -> UInt64

    /// How many bytes of memory the tree took from the system.
    func byteCount() throws -> Int

    /// Gives everything back.
    func close()
}

/// A kind of tree.
struct TreePeer: Sendable {
    let name: String
    /// Makes an empty tree; the directory is empty and in memory.
    let make: @Sendable (_ directory: String) throws -> any OrderedTree
}
