import SheafAttachments
package import SheafDocument
import SheafStorage
import SheafSync

/// The attachments that one connected peer requests, offers, sends and proves.
package struct AttachmentExchange {
    /// An attachment request of the remote peer.
    struct AttachmentRequest {
        var hops: Int
        /// Whether the peer may read the attachment.
        package var mayRead = false
    }

    /// The key of the peer, and the site in its hello.
    let key: [UInt8]
    let site: Site
    var access: PeerAccess
    var sought: [AttachmentID: AttachmentRequest] = [:]
    /// Attachments that were offered to the peer, which may then request their parts.
    var granted: Set<AttachmentID> = []
    /// The attachment that was last read for the peer.
    var reading: AttachmentFile?
    /// Hop limits of the requests that were sent to the peer.
    var sentHopLimits: [AttachmentID: Int] = [:]
    /// Lengths of the attachments that the peer has offered.
    var offered: [AttachmentID: Int] = [:]
    /// Parts requested from the peer, in the order of the requests.
    var requestedParts: [AttachmentPart] = []
    /// The start of the stall timeout: the last received part, stall or first pending request.
    var lastReceipt: UInt64 = 0
    /// Whether the peer timed out and other peers were asked for its parts.
    var isStalled = false
    /// The times of the next and the last check of which attachments the peer may read.
    var checkAt: UInt64?
    var checkedAt: UInt64 = 0
    /// Attachments to check, those among them whose documents are not known, and those that more
    /// documents reference than are kept.
    var unchecked: Set<AttachmentID> = []
    var unscanned: Set<AttachmentID> = []
    var uncertain: Set<AttachmentID> = []
    /// Proofs of possession by the peer, in order.
    var checks: [PossessionCheck] = []
    /// Attachments that the peer was proven to possess, or may read by a proven token.
    var possessed: Set<AttachmentID> = []
    /// Attachments whose proof has failed on this connection.
    var failedChecks: Set<AttachmentID> = []
    /// Tokens whose proofs were requested from the peer, and those requested by the peer.
    var requestedProofs: Set<TokenAddress> = []
    var proofsOwed: [TokenAddress: PendingProof] = [:]
    /// Whether the next iteration checks further tokens of `proofsOwed`.
    var isCheckingProofs = false
    /// Wanted attachments named by a document that the peer may read.
    var readable: Set<AttachmentID> = []

    /// The attachment of the peer that was last fetched after it had waited for room.
    var lastAdmitted: AttachmentID?

    /// Whether the peer requests an attachment for which other peers may be asked.
    func canRelay(_ id: AttachmentID) -> Bool {
        // A request with one hop left is not forwarded.
        guard let request = sought[id] else { return false }
        return request.mayRead && request.hops > 1
    }

    /// Whether something is requested, offered or checked in either direction.
    ///
    /// Otherwise neither time nor a commit has an effect on the exchange.
    var isActive: Bool {
        !sought.isEmpty || !offered.isEmpty || !requestedParts.isEmpty || checkAt != nil
            || !checks.isEmpty || !proofsOwed.isEmpty || isCheckingProofs
            || !unscanned.isEmpty || !uncertain.isEmpty
    }

    /// Number of further parts that may be requested from the peer.
    var fetchRoom: Int { SyncLimits.fetchWindow - requestedParts.count }

    package init(key: [UInt8], site: Site, _ access: PeerAccess) {
        (self.key, self.site, self.access) = (key, site, access)
    }

    /// Returns the index of the peer's proof for an attachment; nil if there is none.
    func check(of id: AttachmentID) -> Int? { checks.firstIndex { $0.id == id } }
}

/// A token whose confirmation a peer has requested and not received.
struct PendingProof {
    /// The position of the document in the log, and whether the token is proven in it.
    package struct State: Equatable {
        let position: LogPosition
        let isProven: Bool
    }

    /// The state at the last check.
    var checked: State?
    /// Whether the request was passed on to other peers.
    var isPassedOn = false
}
