package import SheafDocument

/// What a statement does with one document.
package struct Mutation: Sendable {
    package enum Action: Sendable {
        /// Changes nothing where there is no document.
        case edit([Edit])
        /// A field `_id` is left out. The edits are made behind the insertion: what is set as something other than a map.
        case insert(Object, [Edit], onConflict: Insert.Conflict)
        case insertInitial(Object)
        case delete
        case evict
    }

    package let collection: String
    package let id: Value
    package let action: Action
    /// What of the statement asks for it: a document that is inserted, or the collection.
    package let range: SourceRange
}

/// What a statement does, and what it gives back.
package struct MutationPlan {
    package let mutations: [Mutation]
    /// The rows of RETURNING are made of the documents before, and not of those behind the changes.
    package let returnsOlderDocuments: Bool
    /// Whether there are rows to give back.
    package let returnsRows: Bool
    /// The documents as they were, where those are to be returned; in the order of the mutations.
    package let older: [Object]
    /// The fields of documents as the statement sees them.
    package let types: FieldTypes
    /// How the documents were found; none where there was nothing to find.
    var finding: PlannedSelect?
    var profile: MutationProfile?
}
