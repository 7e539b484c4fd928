import SheafAttachments
import SheafDocument
import SheafEngine
package import SheafStorage

extension AttachmentChecks {
    /// The checks for stores of documents.
    package static let ofDocuments = AttachmentChecks(
        isComplete: AttachmentVerification.isComplete, finding: AttachmentVerification.finding,
        referenced: referencedAttachments)

    /// Returns the names of the files that documents reference.
    @Sendable private static func referencedAttachments(
        among names: Set<String>, in snapshot: LogSnapshot
    ) -> Set<String> {
        var ids: [AttachmentID: String] = [:]
        for name in names {
            if let id = AttachmentVerification.id(ofFile: name) { ids[id] = name }
        }
        do throws(EngineError) {
            let documents = DocumentSnapshot(snapshot, try Catalog(snapshot))
            return Set(
                try documents.referencedAttachments(among: Set(ids.keys)).compactMap { ids[$0] })
        } catch {
            // A document that cannot be read may reference each of them.
            return names
        }
    }
}
