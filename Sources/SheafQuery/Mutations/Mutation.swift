package import SheafDocument

/// The change of one document by a statement.
package struct Mutation: Sendable {
    package enum Action: Sendable {
        /// Edits of a document, which change nothing if the document does not exist.
        case edit([Edit])
        /// An insertion that ignores a field `_id`, then edits for fields with declared types.
        case insert(Object, [Edit], onConflict: Insert.Conflict)
        /// An insertion of a document that is encoded already.
        case insertUnstamped(UnstampedDocument, onConflict: Insert.Conflict)
        case insertInitial(Object)
        case delete
        case evict
    }

    package let collection: String
    package let id: Value
    package let action: Action
    /// The inserted document or the collection in the text of the statement, for errors.
    package let range: SourceRange
}

/// Applies changes of a statement that is still looking for documents.
///
/// If the statement returns changed documents, their types are passed.
package typealias MutationConsumer = (
    _ mutations: [Mutation], _ returned: FieldTypes?
) throws(StoreError) -> Void

/// The changes of a statement and the contents of its result.
package struct MutationPlan {
    /// The changes that have not been passed to the consumer of the plan.
    package let mutations: [Mutation]
    /// Whether RETURNING shows the documents before the changes.
    package let returnsOlderDocuments: Bool
    /// Whether the statement has a RETURNING clause.
    package let returnsRows: Bool
    /// The documents before the changes, in the order of the mutations, if RETURNING needs them.
    package let older: [Object]
    /// Declared field types of the collection.
    package let types: FieldTypes
    /// The plan that found the documents; nil if none was needed.
    var finding: PlannedSelect?
    /// The types of changed documents, if RETURNING shows them.
    package var returned: FieldTypes? { returnsRows && !returnsOlderDocuments ? types : nil }
    var profile: MutationProfile?
}
