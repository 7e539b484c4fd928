import SheafBytes
import SheafDocument
import SheafEngine
import SheafQuery
import SheafStatements

extension SnapshotReader {
    /// Passes a document before a change and in this snapshot to `body`; returns false on damage.
    ///
    /// The images are valid during the call only. An error thrown by `body` counts as damage.
    func withImages(
        of change: CommitFeed.Change, _ body: (DocumentImages) throws(Malformed) -> Void
    ) -> Bool {
        var isShown = false
        var isReadable = true
        do throws(StoreError) {
            try read(change.key.bytes) { (document) throws(StoreError) in
                isShown = true
                isReadable = passImages(change, document, body)
            }
        } catch {
            // The statements that run again report the error.
            return false
        }
        return isShown ? isReadable : passImages(change, nil, body)
    }

    private func passImages(
        _ change: CommitFeed.Change, _ after: ScannedDocument?,
        _ body: (DocumentImages) throws(Malformed) -> Void
    ) -> Bool {
        do throws(Malformed) {
            guard let before = change.before else {
                try body(DocumentImages(before: nil, after: after, names))
                return true
            }
            try change.key.bytes.span.withUnsafeBytes { (key) throws(Malformed) in
                let id = UnsafeRawBufferPointer(
                    rebasing: key.dropFirst(StoreKey.documentPrefixLength))
                try before.read { (bytes) throws(Malformed) in
                    let document = try EncodedDocument(bytes).existingFields().map {
                        ScannedDocument($0, id: id, position: 0, isLasting: false)
                    }
                    try body(DocumentImages(before: document, after: after, names))
                }
            }
            return true
        } catch {
            return false
        }
    }
}
