import SheafDocument
import SheafStorage

extension DocumentSnapshot {
    /// Whether all documents of a collection have hashes.
    package func hasVersions(ofCollection number: UInt16) -> Bool {
        let range = StoreKey.documents(of: number)
        return log.tree.weights(in: range).count == log.tree.count(in: range)
    }
}
