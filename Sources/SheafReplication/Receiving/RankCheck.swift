import SheafDocument
import SheafEngine
import SheafStorage
import SheafSync

/// The documents compared by a reconciliation, to determine whether they were enough.
///
/// A document below the LIMIT enters the result when another one leaves it. If such a document
/// was not compared with the remote version, the peers reconcile again with twice as many
/// documents.
struct RankCheck {
    /// The local snapshot that was reconciled.
    let snapshot: DocumentSnapshot
    /// Documents that were in the list or were received after it.
    var compared: Set<DocumentAddress>
    /// Whether the list contained all matching documents.
    let isAll: Bool
    /// The remote commit of the first batch after the reconciliation.
    var commit: UInt64?

    /// Records documents received since the reconciliation.
    mutating func recordCompared(_ step: ShippedStep) {
        for commit in step.commits {
            for document in commit.documents {
                compared.insert(
                    DocumentAddress(collection: document.collection, id: document.id))
            }
        }
        if commit == nil { commit = step.commit }
    }

    /// Whether the batches of the reconciliation are durable once `commit` is.
    func isDue(through commit: UInt64) -> Bool {
        self.commit.map { $0 <= commit } ?? false
    }

    /// Whether `addresses` contains a document of the reconciled snapshot that was not compared.
    func lacks(_ addresses: [DocumentAddress]) throws(EngineError) -> Bool {
        for address in addresses where !compared.contains(address) {
            guard let key = snapshot.key(of: address),
                let document = try snapshot.document(key), !document.isRemnant
            else { continue }
            return true
        }
        return false
    }
}
