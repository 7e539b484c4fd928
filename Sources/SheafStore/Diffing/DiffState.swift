/// The state of a differ: 24 bytes for each item of the last list, without its contents.
package struct DiffState: Sendable {
    /// The properties by which an item is compared.
    package struct Item: BitwiseCopyable, Sendable {
        /// The log position of the item; zero if it has none.
        var version: UInt64
        /// A hash of the `_id`.
        var id: UInt64 = 0
        /// A hash of all values.
        var content: UInt64 = 0
    }

    /// Maximum number of items: comparisons use 32-bit indexes.
    private static let maximumCount = Int(Int32.max)

    private var items: ContiguousArray<Item> = []

    /// Creates the state for an empty list.
    package init() {}

    /// Number of items.
    package var count: Int { items.count }

    /// Number of bytes that the items use.
    package var byteCount: Int { items.capacity * MemoryLayout<Item>.stride }

    /// Returns the changes since the last call, and keeps the state of the new list.
    ///
    /// A version identifies one item with one content forever; zero identifies none. An item with a
    /// version of the last list is unchanged, and `fingerprint`, which reads a document, is not
    /// called for it. It is called once for each other item, in ascending order. Two items are the
    /// same if the hashes of their ids are equal, in order if several share one, and changed if the
    /// hashes of their contents differ. Hashes of untrusted data need a secret seed, or an attacker
    /// could make two ids collide.
    package mutating func diff(
        versions: [UInt64], fingerprint: (Int) -> (id: UInt64, content: UInt64)
    ) -> Diff {
        precondition(versions.count <= Self.maximumCount, "A list has at most Int32.max items.")
        guard !isUnchanged(versions) else { return Diff() }
        var diff = Diff()
        let new = ContiguousArray<Item>(unsafeUninitializedCapacity: versions.count) { new, count in
            diff = items.withUnsafeBufferPointer { old in
                versions.withUnsafeBufferPointer { versions in
                    var matcher = ItemMatcher(old, new, versions)
                    return matcher.match(fingerprint)
                }
            }
            count = versions.count
        }
        items = new
        return diff
    }

    private func isUnchanged(_ versions: [UInt64]) -> Bool {
        guard versions.count == items.count else { return false }
        return versions.indices.allSatisfy {
            versions[$0] != 0 && versions[$0] == items[$0].version
        }
    }
}
