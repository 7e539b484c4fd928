package import SheafDocument
package import SheafEngine
import SheafStorage
package import SheafSync

/// The documents compared by a reconciliation, to determine whether they were enough.
///
/// A document below the LIMIT enters the result when another one leaves it. If such a document
/// was not compared with the remote version, the peers reconcile again with twice as many
/// documents.
package struct RankCheck {
    /// The local snapshot that was reconciled.
    private let snapshot: DocumentSnapshot
    /// Documents that were in the list or were received after it.
    private var compared: Set<DocumentAddress>
    /// Whether the list contained all matching documents.
    let isAll: Bool
    /// The remote commit of the first batch after the reconciliation.
    private var commit: UInt64?

    package init(snapshot: DocumentSnapshot, compared: Set<DocumentAddress>, isAll: Bool) {
        (self.snapshot, self.compared, self.isAll) = (snapshot, compared, isAll)
    }

    /// Records the documents of a batch received since the reconciliation.
    package mutating func recordCompared(_ commits: [ShippedCommit]) {
        for commit in commits {
            for document in commit.documents {
                compared.insert(
                    DocumentAddress(collection: document.collection, id: document.id))
            }
        }
        if commit == nil { commit = commits.last?.commit ?? 0 }
    }

    /// Whether the batches of the reconciliation are durable once `commit` is.
    package func isDue(through commit: UInt64) -> Bool {
        self.commit.map { $0 <= commit } ?? false
    }

    /// Whether `addresses` contains a document of the reconciled snapshot that was not compared.
    package func lacks(_ addresses: [DocumentAddress]) throws(EngineError) -> Bool {
        for address in addresses where !compared.contains(address) {
            guard let key = snapshot.key(of: address),
                let document = try snapshot.document(key), !document.isRemnant
            else { continue }
            return true
        }
        return false
    }
}
