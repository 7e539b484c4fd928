/// Files that one side has and the other one wants, part by part.
///
/// Whoever wants one asks for a few parts at a time, so nobody ever has to keep more than these for him.
extension SyncSession {
    struct Fetching: Sendable {
        /// What this side has asked for, in the order in which the answers come.
        var asked: [AttachmentPart] = []
        /// What the other side has asked for, in the order in which answers go.
        var serving: [AttachmentPart] = []
        /// Which files the other side seeks.
        var sought: Set<[UInt8]> = []
        /// The tokens of which this side has asked whether they are proven, and those of which the other one has.
        var proofsAsked: Set<TokenAddress> = []
        var proofsOwed: Set<TokenAddress> = []
    }

    /// Wants a file of the other side, or of those whom that one can ask; or does not want it any more.
    package mutating func seek(_ message: Seek) {
        guard isOpen else { return }
        send(.seek, message.bytes)
    }

    /// Says that a file is here.
    package mutating func offer(_ message: Offer) {
        guard isOpen else { return }
        send(.offer, message.bytes)
    }

    /// How many parts this side may ask for now.
    package var fetchRoom: Int { isOpen ? SyncLimits.fetchWindow - fetching.asked.count : 0 }

    /// Asks for a part of a file that was offered.
    package mutating func fetch(_ part: AttachmentPart) {
        precondition(fetchRoom > 0, "Parts are asked for while there is room.")
        fetching.asked.append(part)
        send(.fetch, part.bytes)
    }

    /// What is to be answered next; the other side waits for it.
    package var nextServed: AttachmentPart? { isOpen ? fetching.serving.first : nil }

    /// Answers `nextServed`; without bytes, that they cannot be told.
    package mutating func serve(_ bytes: [UInt8]?) {
        guard let part = nextServed else { return }
        fetching.serving.removeFirst()
        if let bytes {
            send(.part, AttachmentBytes(part, bytes).bytes)
        } else {
            send(.lacking, part.bytes)
        }
    }

    /// Asks whether a token is proven at the other side; it confirms that now or later, or never.
    package mutating func askForProof(of token: TokenAddress) {
        guard isOpen, fetching.proofsAsked.insert(token).inserted else { return }
        send(.askProof, token.bytes)
    }

    /// Confirms that a token is proven, of which the other side has asked.
    package mutating func confirm(_ token: TokenAddress) {
        guard isOpen, fetching.proofsOwed.remove(token) != nil else { return }
        send(.proven, token.bytes)
    }

    // MARK: What comes

    mutating func takeProofQuestion(_ token: TokenAddress) throws(WireError) {
        guard fetching.proofsOwed.insert(token).inserted,
            fetching.proofsOwed.count <= SyncLimits.askedProofs
        else { throw .outOfOrder("a token that was asked of already, or one too many") }
        emit(.proofAsked(token))
    }

    mutating func takeProven(_ token: TokenAddress) throws(WireError) {
        guard fetching.proofsAsked.remove(token) != nil else {
            throw .outOfOrder("a proof that was not asked for")
        }
        emit(.proven(token))
    }

    mutating func takeSeek(_ message: Seek) throws(WireError) {
        if message.hops == 0 {
            fetching.sought.remove(message.id)
        } else {
            fetching.sought.insert(message.id)
            guard fetching.sought.count <= SyncLimits.soughtAttachments else {
                throw .outOfOrder("more than \(SyncLimits.soughtAttachments) attachments")
            }
        }
        emit(.sought(message))
    }

    mutating func takeFetch(_ part: AttachmentPart) throws(WireError) {
        guard fetching.serving.count < SyncLimits.fetchWindow else {
            throw .outOfOrder("a request for more than \(SyncLimits.fetchWindow) parts")
        }
        fetching.serving.append(part)
    }

    mutating func takePart(_ part: AttachmentPart, _ bytes: [UInt8]?) throws(WireError) {
        guard fetching.asked.first == part else {
            throw .outOfOrder("a part of an attachment that was not asked for")
        }
        fetching.asked.removeFirst()
        emit(.fetched(part, bytes))
    }
}
