/// Transfer of attachments in parts.
///
/// The receiver requests a few parts at a time, which bounds the memory of the sender.
extension SyncSession {
    struct Fetching: Sendable {
        /// Parts requested from the peer, in the order of the responses.
        var requestedParts: [AttachmentPart] = []
        /// Parts requested by the peer, in the order of the responses.
        var serving: [AttachmentPart] = []
        /// Attachments that the peer seeks.
        var sought: Set<[UInt8]> = []
        /// Tokens whose proof was requested from the peer.
        var requestedProofs: Set<TokenAddress> = []
        /// Tokens whose proof the peer requested and did not receive yet.
        var proofsOwed: Set<TokenAddress> = []
    }

    /// Asks the peer to find an attachment, or cancels the search.
    package mutating func seek(_ message: Seek) {
        guard isOpen else { return }
        send(.seek, message.bytes)
    }

    /// Offers a completely stored attachment to the peer.
    package mutating func offer(_ message: Offer) {
        guard isOpen else { return }
        send(.offer, message.bytes)
    }

    /// Number of further parts that may be requested.
    package var fetchRoom: Int {
        isOpen ? SyncLimits.fetchWindow - fetching.requestedParts.count : 0
    }

    /// Requests a part of an offered attachment.
    package mutating func fetch(_ part: AttachmentPart) {
        precondition(fetchRoom > 0, "At most `fetchRoom` parts may be requested.")
        fetching.requestedParts.append(part)
        send(.fetch, part.bytes)
    }

    /// The next part to send to the peer.
    package var nextServed: AttachmentPart? { isOpen ? fetching.serving.first : nil }

    /// Sends the bytes of `nextServed`; nil reports them as unavailable.
    package mutating func serve(_ bytes: [UInt8]?) {
        guard let part = nextServed else { return }
        fetching.serving.removeFirst()
        if let bytes {
            send(.part, AttachmentBytes(part, bytes).bytes)
        } else {
            send(.lacking, part.bytes)
        }
    }

    /// Asks the peer to confirm that a token is proven; a response may never arrive.
    package mutating func requestProof(of token: TokenAddress) {
        guard isOpen, fetching.requestedProofs.insert(token).inserted else { return }
        send(.askProof, token.bytes)
    }

    /// Confirms a token whose proof the peer has requested.
    package mutating func confirm(_ token: TokenAddress) {
        guard isOpen, fetching.proofsOwed.remove(token) != nil else { return }
        send(.proven, token.bytes)
    }

    mutating func handleProofRequest(_ token: TokenAddress) throws(WireError) {
        guard fetching.proofsOwed.insert(token).inserted,
            fetching.proofsOwed.count <= SyncLimits.askedProofs
        else { throw .outOfOrder("a repeated or excessive proof request") }
        emit(.proofAsked(token))
    }

    mutating func handleProven(_ token: TokenAddress) throws(WireError) {
        guard fetching.requestedProofs.remove(token) != nil else {
            throw .outOfOrder("a proof that was not requested")
        }
        emit(.proven(token))
    }

    mutating func handleSeek(_ message: Seek) throws(WireError) {
        if message.hops == 0 {
            fetching.sought.remove(message.id)
        } else {
            fetching.sought.insert(message.id)
            guard fetching.sought.count <= SyncLimits.soughtAttachments else {
                throw .outOfOrder(
                    "more than \(SyncLimits.soughtAttachments) attachments requested at the same time"
                )
            }
        }
        emit(.sought(message))
    }

    mutating func handleFetch(_ part: AttachmentPart) throws(WireError) {
        guard fetching.serving.count < SyncLimits.fetchWindow else {
            throw .outOfOrder("a request for more than \(SyncLimits.fetchWindow) parts")
        }
        fetching.serving.append(part)
    }

    mutating func handlePart(_ part: AttachmentPart, _ bytes: [UInt8]?) throws(WireError) {
        guard fetching.requestedParts.first == part else {
            throw .outOfOrder("an attachment part that was not requested")
        }
        fetching.requestedParts.removeFirst()
        emit(.fetched(part, bytes))
    }
}
