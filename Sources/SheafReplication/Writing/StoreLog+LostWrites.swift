import SheafDocument
package import SheafEngine
import SheafStatements
import SheafTransport

/// Log messages about stores that were restored to an older state, and copies in use.
extension StoreLog {
    /// Maximum number of logged documents that could not be moved to another site.
    private static let maximumUnmovedMessages = 16

    /// Logs that a peer has writes of this store that the store itself lacks.
    func writeMissingWrites(knownBy key: [UInt8]?) {
        guard let key else { return }
        write(
            .error,
            "a peer has writes of this store that the store lacks: an older state was restored, or a copy of the "
                + "store is in use; the store changes its site",
            ["peer": PeerKey(unchecked: key).description])
    }

    /// Logs why writes of this store could not be moved to another site.
    func writeUnmoved(_ outcome: WriteJob.Outcome) {
        if outcome.isSeparation, let error = outcome.error {
            write(
                .error,
                "the store cannot change its site; it tries again when a peer reports a write that the store lacks",
                ["reason": "\(error)"])
        }
        writeUnmoved(outcome.unmoved)
    }

    /// Logs the first documents that could not be moved to another site.
    package func writeUnmoved(_ documents: [UnmovedDocument]) {
        for document in documents.prefix(Self.maximumUnmovedMessages) {
            write(
                .error,
                "a document cannot be assigned to the new site of this store: if it is sent, writes to it that peers "
                    + "have and this store lacks are lost; run sheaf verify, and copy the readable part to "
                    + "another store with sheaf salvage",
                [
                    "documents": "\(documents.count)", "reason": "\(document.reason)",
                ].merging(document.address?.logFields ?? [:]) { $1 })
        }
    }

    /// Logs the documents with lost writes, by outcome.
    func write(_ lostWrites: LostWrites) {
        if let first = lostWrites.kept.first {
            write(
                .warning,
                "documents have kept writes that their store has lost: an older state of it was restored, "
                    + "or a copy of it is in use",
                first.logFields.merging(["documents": "\(lostWrites.kept.count)"]) { $1 })
        }
        if let first = lostWrites.removed.first {
            write(
                .warning,
                "additions to counters are lost: their store has lost them and has added "
                    + "to the same counters since",
                first.logFields.merging(["documents": "\(lostWrites.removed.count)"]) { $1 })
        }
        if let first = lostWrites.unmoved.first, let address = first.address {
            write(
                .error,
                "a document has no room for writes that their store has lost: they are missing, or "
                    + "counted twice",
                address.logFields.merging([
                    "documents": "\(lostWrites.unmoved.count)", "reason": "\(first.reason)",
                ]) { $1 })
        }
    }
}
