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
        for connection in orderedConnections where connection !== asker && !isLimited(connection) {
            guard connection.session.isOpen, isShared(document.collection, on: connection),
                connection.files.requestedProofs.count < SyncLimits.askedProofs,
                connection.files.requestedProofs.insert(token).inserted
            else { continue }
            connection.session.requestProof(of: token)
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
    func handleProofRequest(_ token: TokenAddress, on connection: Connection) {
        connection.files.proofsOwed[token] = PendingProof()
        answerProofs(on: connection)
    }

    /// Confirms requested tokens that are proven, until the evaluation slice is used up.
    func answerProofs(on connection: Connection) {
        connection.files.isCheckingProofs = false
        guard !connection.files.proofsOwed.isEmpty, connection.session.isOpen else { return }
        let snapshot = news.snapshot
        fillBudget(of: connection)
        for token in connection.files.proofsOwed.keys.sorted(by: { $0.document < $1.document }) {
            guard !slice.isOver else {
                connection.files.isCheckingProofs = true
                return
            }
            answerProof(of: token, in: snapshot, on: connection)
            guard connection.session.isOpen else { return }
        }
    }

    /// Confirms a token if it is proven.
    ///
    /// The document is read only if it has changed, or the token was proven, since the last check.
    private func answerProof(
        of token: TokenAddress, in snapshot: DocumentSnapshot, on connection: Connection
    ) {
        guard let owed = connection.files.proofsOwed[token],
            let id = AttachmentID(bytes: token.attachment),
            let key = snapshot.key(of: token.document),
            let place = key.span.withUnsafeBytes({ snapshot.log.recordPointer(of: $0) })
        else { return }
        let isProven = snapshot.proven([id], inDocument: key).contains(id)
        let state = PendingProof.State(position: place.position, isProven: isProven)
        guard owed.checked != state else { return }
        connection.files.proofsOwed[token]?.checked = state
        guard let document = try? snapshot.document(key) else { return }
        let units = EvaluationSlice.visitUnits + document.read { $0.count }
        slice.charge(units)
        let mayKnow = try? maySend(
            connection, document, before: nil, key, token.document, snapshot)
        guard mayKnow == true else { return }
        // Only documents that the peer may read are charged: the cost of other documents must not
        // show.
        meter(of: connection).use(units)
        guard !meter(of: connection).isExhausted else {
            return fail(
                connection, .limit, "the requests for proofs exceed the evaluation budget of a peer"
            )
        }
        if isProven, let named = try? snapshot.attachments(referencedBy: key), named.contains(id) {
            connection.files.proofsOwed[token] = nil
            connection.session.confirm(token)
            files.isStirred = true
        } else if !owed.isPassedOn {
            connection.files.proofsOwed[token]?.isPassedOn = true
            checkTokensSoon()
            requestProof(of: id, in: token.document, but: connection)
        }
    }

    /// Handles a peer's confirmation of a token, which marks the token as proven.
    func confirmed(_ token: TokenAddress, on connection: Connection) {
        guard connection.files.requestedProofs.remove(token) != nil, !isLimited(connection),
            let hello = connection.session.remote
        else { return }
        let snapshot = news.snapshot
        guard let key = snapshot.key(of: token.document),
            let proven = try? snapshot.unprovenToken(of: token.attachment, inDocument: key)
        else { return }
        emit(
            .write(
                WriteJob(
                    connection: connection.number, steps: [], peer: hello.site, writable: nil,
                    proven: [proven])))
    }
}
