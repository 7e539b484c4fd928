package import SheafDocument
import SheafEngine
import SheafStorage
import SheafSync

/// The state of a peer with limited rights, kept across its connections, which share it.
package final class LimitedPeer {
    /// Number of the last batch sent to the peer.
    ///
    /// Commit numbers would also count commits that the peer may not read.
    var stepCount: UInt64 = 0
    /// Documents sent by the peer in an older state and not yet acknowledged in the newer one.
    package private(set) var repairs: Set<DocumentAddress> = []
    /// Documents received from the peer and written.
    var received = ReceivedDocuments()
    /// Documents that the peer sent in an older state before its subscription was accepted.
    ///
    /// The read rule is evaluated on them later.
    package private(set) var unjudged: Set<DocumentAddress> = []
    /// Writes of the peer to documents that it may not read.
    package var shadows = ShadowTable()

    /// Maximum number of read repairs of one peer; beyond it the peer reconciles.
    package static let maximumRepairs = 4_096

    private let most: Int

    package init(most: Int = LimitedPeer.maximumRepairs) {
        self.most = most
    }

    /// Adds a read repair; beyond the maximum, removes all of them and returns false.
    package func repair(_ address: DocumentAddress) -> Bool {
        repairs.insert(address)
        guard repairs.count > most else { return true }
        repairs = []
        return false
    }

    /// Adds a document that the peer sent in an older state.
    ///
    /// Beyond the maximum, removes all such documents: the peer reconciles when it subscribes.
    package func judgeLater(_ address: DocumentAddress) {
        unjudged.insert(address)
        if unjudged.count > most { unjudged = [] }
    }

    /// Removes and returns the documents on which the read rule is not evaluated yet.
    func drainUnjudged() -> Set<DocumentAddress> {
        defer { unjudged = [] }
        return unjudged
    }

    func recordRepaired(_ addresses: Set<DocumentAddress>) {
        repairs.subtract(addresses)
    }
}
