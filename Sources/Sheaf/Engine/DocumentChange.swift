package import SheafDocument
package import SheafStorage

/// What a statement does with one document.
package struct DocumentChange: Sendable {
    /// What becomes of an insertion where there is a document already.
    package enum Conflict: Sendable {
        case fail, doNothing
        /// The fields are set, each anew.
        case merge
        /// Only the fields that differ are set.
        case mergeDifferences
    }

    package enum Action: Sendable {
        /// Changes nothing where there is no document.
        case edit([Edit])
        /// A field `_id` is passed over: it is not in the document, but its key.
        case insert(Object, onConflict: Conflict = .fail)
        /// Inserts what loses to all else, where nobody has heard of the document.
        case insertInitial(Object)
        case delete
        /// Takes the document away here, and tells nobody.
        case evict
        /// Takes away what is left of a document.
        case forget
        /// A state or a delta from somebody else, whose fields are all spelled.
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

/// What became of a commit.
package struct DocumentReceipt: Sendable {
    /// What became of one change.
    package struct Outcome: Equatable, Sendable {
        package let isChanged: Bool
        /// What it was written with; none for what others wrote, and where nothing was.
        package let stamp: Stamp?
    }

    /// The commit that has the changes; the newest there is where nothing was changed.
    package let commit: CommitID
    /// In the order of the changes.
    package let outcomes: [Outcome]
}
