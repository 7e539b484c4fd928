/// What a differ knows of a list of items: nothing of the items, and 24 bytes for each of them.
package struct DiffState: Sendable {
    /// An item as far as it is compared.
    struct Item: BitwiseCopyable, Sendable {
        /// Where the item stands in the log, or zero where it does not.
        var version: UInt64
        /// A hash of the `_id`.
        var id: UInt64 = 0
        /// A hash of all values.
        var content: UInt64 = 0
    }

    /// Lists are numbered with 32 bits while they are compared.
    private static let maximumCount = Int(Int32.max)

    private var items: ContiguousArray<Item> = []

    /// Knows an empty list.
    package init() {}

    /// How many items there are.
    package var count: Int { items.count }

    /// How much memory they take.
    package var byteCount: Int { items.capacity * MemoryLayout<Item>.stride }

    /// Tells what has become of the list since the last time, and remembers how it is now.
    ///
    /// A version names one item with one content for all time; zero names none. What has a version
    /// of before is the same item unchanged, and its `fingerprint` is not asked for: that costs a
    /// walk through a document. Others are asked for theirs, once, in rising order. They are the
    /// same as before where the hash of their id is, one after the other where several share it,
    /// and changed where the hash of their content is another one. Whoever hashes what strangers
    /// have written takes a secret seed, or they could make two ids look like one.
    package mutating func diff(
        versions: [UInt64], fingerprint: (Int) -> (id: UInt64, content: UInt64)
    ) -> Diff {
        precondition(versions.count <= Self.maximumCount, "No list is as long as this.")
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
