import SheafDocument
import SheafEngine
import SheafQuery
import SheafStorage
import SheafSync

/// Confirmation of unproven attachment tokens by peers at which they are proven.
extension Replicator {
    /// Requests confirmations of a token from all peers that may write everything.
    func requestProof(
        of id: AttachmentID, in document: DocumentAddress, but asker: Connection? = nil
    ) {
        let token = TokenAddress(attachment: id.bytes, document: document)
        for link in allLinks where link !== asker && !isLimited(link) {
            guard link.session.isOpen, isShared(document.collection, on: link),
                link.files.requestedProofs.count < SyncLimits.askedProofs,
                link.files.requestedProofs.insert(token).inserted
            else { continue }
            link.session.requestProof(of: token)
            files.isStirred = true
        }
    }

    /// A token whose confirmation the peer has requested and not received.
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

    /// Handles a peer's request to confirm a token.
    func handleProofRequest(_ token: TokenAddress, on link: Connection) {
        link.files.proofsOwed[token] = PendingProof()
        answerProofs(on: link)
    }

    /// Confirms requested tokens that are proven, until the evaluation slice is used up.
    func answerProofs(on link: Connection) {
        link.files.isCheckingProofs = false
        guard !link.files.proofsOwed.isEmpty, link.session.isOpen else { return }
        let snapshot = news.snapshot
        fillBudget(of: link)
        for token in link.files.proofsOwed.keys.sorted(by: { $0.document < $1.document }) {
            guard !slice.isOver else {
                link.files.isCheckingProofs = true
                return
            }
            answerProof(of: token, in: snapshot, on: link)
            guard link.session.isOpen else { return }
        }
    }

    /// Confirms a token if it is proven.
    ///
    /// The document is read only if it has changed, or the token was proven, since the last check.
    private func answerProof(
        of token: TokenAddress, in snapshot: DocumentSnapshot, on link: Connection
    ) {
        guard let owed = link.files.proofsOwed[token],
            let id = AttachmentID(bytes: token.attachment),
            let key = snapshot.key(of: token.document),
            let place = key.span.withUnsafeBytes({ snapshot.log.recordPointer(of: $0) })
        else { return }
        let isProven = snapshot.proven([id], inDocument: key).contains(id)
        let state = PendingProof.State(position: place.position, isProven: isProven)
        guard owed.checked != state else { return }
        link.files.proofsOwed[token]?.checked = state
        guard let document = try? snapshot.document(key) else { return }
        let units = EvaluationSlice.visitUnits + document.read { $0.count }
        slice.charge(units)
        let mayKnow = try? maySend(
            link, document, before: nil, key, token.document, snapshot)
        guard mayKnow == true else { return }
        // Only documents that the peer may read are charged: the cost of other documents must not
        // show.
        meter(of: link).use(units)
        guard !meter(of: link).isExhausted else {
            return fail(
                link, .limit, "the requests for proofs exceed the evaluation budget of a peer")
        }
        if isProven, let named = try? snapshot.attachments(referencedBy: key), named.contains(id) {
            link.files.proofsOwed[token] = nil
            link.session.confirm(token)
            files.isStirred = true
        } else if !owed.isPassedOn {
            link.files.proofsOwed[token]?.isPassedOn = true
            checkTokensSoon()
            requestProof(of: id, in: token.document, but: link)
        }
    }

    /// Handles a peer's confirmation of a token, which marks the token as proven.
    func confirmed(_ token: TokenAddress, on link: Connection) {
        guard link.files.requestedProofs.remove(token) != nil, !isLimited(link),
            let hello = link.session.remote
        else { return }
        let snapshot = news.snapshot
        guard let key = snapshot.key(of: token.document),
            let proven = try? snapshot.unprovenToken(of: token.attachment, inDocument: key)
        else { return }
        emit(
            .write(
                WriteJob(
                    connection: link.number, steps: [], peer: hello.site, writable: nil,
                    proven: [proven])))
    }
}
