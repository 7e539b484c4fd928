import SheafAttachments
import SheafDocument
import SheafEngine
import SheafStatements
import SheafSync
import SheafTransport

/// Quotas of attachments kept for other peers, one for each peer with limited rights.
///
/// Attachments that this peer fetches for itself are not counted.
extension AttachmentTransfer {
    /// Whether `length` more bytes of an attachment from the peer may be kept.
    ///
    /// Emits an effect that states whether the quota is exceeded.
    mutating func mayKeep(_ length: Int, of id: AttachmentID, from number: UInt64) -> Bool {
        guard isCounted(id, from: number) else { return true }
        let key = self[number].key
        var known = received[key] ?? ReceivedAttachments()
        let isReviewDue = known.reviewedAt.map { $0 + Self.checkNanoseconds <= now } ?? true
        if known.length(adding: length, of: id) > quota, isReviewDue,
            let ids = try? attachments?.ids
        {
            known.retain(Set(ids))
            known.reviewedAt = now
            received[key] = known
        }
        let isKept = known.length(adding: length, of: id) <= quota
        effects.append(.quota(connection: number, isExceeded: !isKept, kept: known.length))
        return isKept
    }

    /// Counts the bytes of an attachment that were received from the peer.
    mutating func countReceived(_ length: Int, of id: AttachmentID, from number: UInt64) {
        guard isCounted(id, from: number) else { return }
        received[self[number].key, default: ReceivedAttachments()].add(length, of: id)
    }

    private func isCounted(_ id: AttachmentID, from number: UInt64) -> Bool {
        self[number].access.needsProofs && wanted[id]?.isOwn != true
    }

    /// Stops fetching an attachment from a peer whose quota it exceeds.
    mutating func decline(_ id: AttachmentID, from number: UInt64) {
        self[number].offered[id] = nil
        if case .listing(number, _, _, _)? = wanted[id]?.phase {
            wanted[id]?.phase = .seeking
        }
    }

    /// Begins to store an attachment with hashes from the peer, and counts its length if it is new.
    ///
    /// Otherwise a peer that sends no chunks could begin any number of attachments.
    mutating func beginFetch(
        _ id: AttachmentID, length: Int, hashes: [UInt8], from number: UInt64,
        in attachments: AttachmentStore
    ) throws(AttachmentError) -> AttachmentStore.FetchState {
        let isNew = try attachments.entry(id) == nil
        let state = try attachments.beginFetch(id, length: length, hashes: hashes)
        if isNew, isCounted(id, from: number) {
            received[self[number].key, default: ReceivedAttachments()].begin(id, length: length)
        }
        return state
    }

    /// Removes an attachment that is not wanted and of which no chunk was received.
    mutating func removeIfEmpty(_ id: AttachmentID) {
        guard let attachments, wanted[id] == nil,
            let incoming = (try? attachments.incoming(id)) ?? nil, incoming.receivedLength == 0,
            (try? attachments.abandon(id)) != nil
        else { return }
        for key in received.keys { received[key]?.remove(id) }
    }
}
