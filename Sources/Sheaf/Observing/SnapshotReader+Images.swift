import SheafBytes
import SheafDocument
import SheafQuery

extension SnapshotReader {
    /// Shows how a document was before a change, and how it is in this state; the bytes of what was
    /// are valid during the call.
    func withImages(of change: CommitFeed.Change, _ body: (DocumentImages) -> Void) {
        var isShown = false
        // What is damaged is as if it were not there: who runs his statement again hears of it.
        _ = try? read(change.key) { (document) throws(QueryError) in
            isShown = true
            show(change, document, body)
        }
        if !isShown { show(change, nil, body) }
    }

    private func show(
        _ change: CommitFeed.Change, _ after: ScannedDocument?, _ body: (DocumentImages) -> Void
    ) {
        guard let before = change.before else {
            return body(DocumentImages(before: nil, after: after, names))
        }
        change.key.span.withUnsafeBytes { key in
            let id = UnsafeRawBufferPointer(rebasing: key.dropFirst(StoreKey.documentPrefixLength))
            before.read { bytes in
                let fields = (try? EncodedDocument(bytes).existingFields()) ?? nil
                let document = fields.map {
                    ScannedDocument($0, id: id, place: 0, isLasting: false)
                }
                body(DocumentImages(before: document, after: after, names))
            }
        }
    }
}
