package import SheafBytes
import SheafDocument
import SheafStorage

extension DocumentSnapshot {
    /// Whether all documents or index entries in a range have hashes.
    package func hasVersions(in range: KeyRange) -> Bool {
        log.tree.weights(in: range).count == log.tree.count(in: range)
    }
}
