import SheafBytes
import SheafDocument
import SheafQuery

extension SnapshotReader {
    /// Shows how a document was before a change, and how it is in this state; false where it is damaged.
    ///
    /// The bytes of what was are valid during the call.
    func withImages(of change: CommitFeed.Change, _ body: (DocumentImages) -> Void) -> Bool {
        var isShown = false
        var isReadable = true
        do throws(QueryError) {
            try read(change.key.bytes) { (document) throws(QueryError) in
                isShown = true
                isReadable = show(change, document, body)
            }
        } catch {
            // The error comes again to those who run their statement again.
            return false
        }
        return isShown ? isReadable : show(change, nil, body)
    }

    private func show(
        _ change: CommitFeed.Change, _ after: ScannedDocument?, _ body: (DocumentImages) -> Void
    ) -> Bool {
        guard let before = change.before else {
            body(DocumentImages(before: nil, after: after, names))
            return true
        }
        return change.key.bytes.span.withUnsafeBytes { key in
            let id = UnsafeRawBufferPointer(rebasing: key.dropFirst(StoreKey.documentPrefixLength))
            return before.read { bytes in
                let fields: EncodedObject?
                do throws(Malformed) {
                    fields = try EncodedDocument(bytes).existingFields()
                } catch {
                    return false
                }
                let document = fields.map {
                    ScannedDocument($0, id: id, place: 0, isLasting: false)
                }
                body(DocumentImages(before: document, after: after, names))
                return true
            }
        }
    }
}
