package import SheafBytes

extension LogSnapshot {
    /// Calls `body` with the leaves of the tree that have entries in `range`, in key order.
    package func forEachLeaf<Failure: Error>(
        in range: KeyRange, _ body: (LogLeaf) throws(Failure) -> Void
    ) throws(Failure) {
        try tree.forEachLeaf(in: range) { (id, values) throws(Failure) in
            try body(LogLeaf(id: id, values: values))
        }
    }
}

/// The record pointers of a range of keys on one leaf of the tree.
///
/// It is valid while a snapshot of the same state of the tree is referenced.
package struct LogLeaf: Sendable {
    /// The identity of the leaf; for one range, equal identities have equal record pointers.
    package let id: BTreeLeafID
    // The pages of a snapshot are immutable.
    private nonisolated(unsafe) let values: BTreeLeafValues

    init(id: BTreeLeafID, values: BTreeLeafValues) {
        self.id = id
        self.values = values
    }

    /// The number of entries.
    package var count: Int { values.count }

    /// The record pointers in key order; entries without a payload are omitted.
    package var pointers: [RecordPointer] { (0..<count).compactMap { self[$0] } }

    /// Returns the record pointer of an entry; nil if the entry is no key with a payload.
    package subscript(number: Int) -> RecordPointer? { RecordPointer(values[number]) }
}
