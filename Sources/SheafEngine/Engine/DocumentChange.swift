package import SheafDocument
package import SheafStorage

/// A change to one document.
package struct DocumentChange: Sendable {
    /// The behavior of an insertion if the document exists.
    package enum Conflict: Sendable {
        case fail, doNothing
        /// Sets all given fields, even to equal values.
        case merge
        /// Sets only the fields that differ.
        case mergeDifferences
    }

    package enum Action: Sendable {
        /// Applies edits; changes nothing if the document does not exist.
        case edit([Edit])
        /// Inserts a document. A field `_id` is ignored, because the id is the key.
        case insert(Object, onConflict: Conflict = .fail)
        /// Inserts a document that is encoded already.
        case insertUnstamped(UnstampedDocument, onConflict: Conflict)
        /// Inserts a document that loses to every other write, unless it or a tombstone exists.
        case insertInitial(Object)
        case delete
        /// Evicts the document: removes it locally without informing peers.
        case evict
        /// Removes a tombstone or the remnant of an evicted document.
        case purge
        /// Joins a state or delta from another peer, with all field names spelled out.
        case join([UInt8])
    }

    package let collection: String
    package let id: Value
    package let action: Action

    package init(_ collection: String, _ id: Value, _ action: Action) {
        self.collection = collection
        self.id = id
        self.action = action
    }
}

/// The result of a commit.
package struct DocumentReceipt: Sendable {
    /// The result of one change.
    package struct Outcome: Equatable, Sendable {
        package let isChanged: Bool
        /// The stamp of the write; nil for received writes and if nothing was written.
        package let stamp: Stamp?
    }

    /// The commit with the changes; the newest existing one if nothing was changed.
    package let commit: CommitID
    /// The outcomes in the order of the changes.
    package let outcomes: [Outcome]
}
