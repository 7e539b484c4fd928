package import SheafDocument
import SheafEngine
import SheafQuery
import SheafStorage
package import SheafSync

/// Confirmation of unproven attachment tokens by peers at which they are proven.
extension AttachmentTransfer {
    /// Requests confirmations of a token from the peers that may write everything, except `asker`.
    package mutating func requestProof(
        of id: AttachmentID, in document: DocumentAddress, but asker: UInt64? = nil
    ) {
        let token = TokenAddress(attachment: id.bytes, document: document)
        for number in numbers where number != asker && !self[number].access.needsProofs {
            guard self[number].access.isShared(document.collection) else { continue }
            guard !self[number].requestedProofs.contains(token) else { continue }
            guard self[number].requestedProofs.count < SyncLimits.askedProofs else {
                mustCheckAll = true
                continue
            }
            self[number].requestedProofs.insert(token)
            send(.requestProof(token), to: number)
        }
    }

    /// Handles a peer's request to confirm a token.
    mutating func handleProofRequest(_ token: TokenAddress, on number: UInt64) {
        self[number].proofsOwed[token] = PendingProof()
    }

    /// Confirms requested tokens that are proven, until the evaluation slice is used up.
    ///
    /// `meter` is charged for documents that the peer may read, and `slice` limits the duration.
    mutating func answerProofs(
        on number: UInt64, _ meter: EvaluationMeter, _ slice: EvaluationSlice
    ) {
        self[number].isCheckingProofs = false
        for token in self[number].proofsOwed.keys.sorted(by: { $0.document < $1.document }) {
            guard !slice.isOver else {
                self[number].isCheckingProofs = true
                return
            }
            guard answerProof(of: token, on: number, meter, slice) else { return }
        }
    }

    /// Confirms a proven token, or passes the request on; returns false if over the peer's budget.
    ///
    /// The document is read only if it has changed, or the token was proven, since the last check.
    private mutating func answerProof(
        of token: TokenAddress, on number: UInt64, _ meter: EvaluationMeter,
        _ slice: EvaluationSlice
    ) -> Bool {
        guard let owed = self[number].proofsOwed[token],
            let id = AttachmentID(bytes: token.attachment),
            let key = snapshot.key(of: token.document),
            let pointer = key.span.withUnsafeBytes({ snapshot.log.recordPointer(of: $0) })
        else { return true }
        let isProven = snapshot.proven([id], inDocument: key).contains(id)
        let state = PendingProof.State(position: pointer.position, isProven: isProven)
        guard owed.checked != state else { return true }
        self[number].proofsOwed[token]?.checked = state
        guard let document = try? snapshot.document(key) else { return true }
        let units = EvaluationSlice.visitUnits + document.read { $0.count }
        slice.charge(units)
        let mayKnow = try? self[number].access.maySend(
            document, before: nil, key, token.document, snapshot.names)
        guard mayKnow == true else { return true }
        // Only documents that the peer may read are charged: the cost of other documents must not
        // show.
        meter.use(units)
        guard !meter.isExhausted else {
            effects.append(.fail(connection: number))
            return false
        }
        if isProven, let named = try? snapshot.attachments(referencedBy: key), named.contains(id) {
            self[number].proofsOwed[token] = nil
            send(.confirm(token), to: number)
        } else if !owed.isPassedOn {
            self[number].proofsOwed[token]?.isPassedOn = true
            checkTokensSoon()
            requestProof(of: id, in: token.document, but: number)
        }
        return true
    }

    /// Handles a peer's confirmation of a token, which marks the token as proven.
    package mutating func confirmed(_ token: TokenAddress, on number: UInt64) {
        guard self[number].requestedProofs.remove(token) != nil, !self[number].access.needsProofs,
            let key = snapshot.key(of: token.document),
            let proven = try? snapshot.unprovenToken(of: token.attachment, inDocument: key)
        else { return }
        effects.append(.prove(connection: number, self[number].site, [proven]))
    }
}
