import SheafAttachments
import SheafDocument
import SheafEngine
import SheafStatements
import SheafSync
import SheafTransport

/// Quotas of attachments kept for other peers, one for each peer with limited rights.
///
/// Attachments that this peer fetches for itself are not counted.
extension Replicator {
    /// Whether `length` more bytes of an attachment from the peer may be kept.
    ///
    /// Logs a warning when the quota is exceeded.
    func mayKeep(_ length: Int, of id: AttachmentID, from connection: Connection) -> Bool {
        guard isCounted(id, from: connection), let key = connection.session.remote?.peerKey else {
            return true
        }
        let quota = lengths.receivedAttachments
        var received = limitedPeers[key]?.attachments ?? ReceivedAttachments()
        let isReviewDue = received.reviewedAt.map { $0 + Files.checkNanoseconds <= now } ?? true
        if received.length(adding: length, of: id) > quota, isReviewDue,
            let ids = try? attachments?.ids
        {
            received.retain(Set(ids))
            received.reviewedAt = now
            limitedPeers[key, default: LimitedPeer()].attachments = received
        }
        guard received.length(adding: length, of: id) > quota else {
            change(connection) { $0.attachmentQuotaReason = nil }
            return true
        }
        if statuses[key]?.attachmentQuotaReason == nil {
            queries.log?.write(
                .warning,
                "a peer with limited rights has reached its attachment quota; its further attachments are not fetched "
                    + "for other peers",
                [
                    "peer": PeerKey(unchecked: key).description, "kept": "\(received.length)",
                    "quota": "\(quota)",
                ])
        }
        change(connection) {
            $0.attachmentQuotaReason =
                "its attachments are not fetched for other peers: they exceed its quota of \(quota) bytes"
        }
        return false
    }

    /// Counts the bytes of an attachment that were received from the peer.
    func countReceived(_ length: Int, of id: AttachmentID, from connection: Connection) {
        guard isCounted(id, from: connection), let key = connection.session.remote?.peerKey else {
            return
        }
        limitedPeers[key, default: LimitedPeer()].attachments.add(length, of: id)
    }

    private func isCounted(_ id: AttachmentID, from connection: Connection) -> Bool {
        isLimited(connection) && files.wanted[id]?.isOwn != true
    }

    /// Stops fetching an attachment from a peer whose quota it exceeds.
    func decline(_ id: AttachmentID, from connection: Connection) {
        connection.files.offered[id] = nil
        if case .listing(connection.number, _, _, _)? = files.wanted[id]?.phase {
            files.wanted[id]?.phase = .seeking
        }
    }

    /// Begins to store an attachment with hashes from the peer, and counts its length if it is new.
    ///
    /// Otherwise a peer that sends no chunks could begin any number of attachments.
    func beginFetch(
        _ id: AttachmentID, length: Int, hashes: [UInt8], from connection: Connection,
        in attachments: AttachmentStore
    ) throws(AttachmentError) -> AttachmentStore.FetchState {
        let isNew = try attachments.entry(id) == nil
        let state = try attachments.beginFetch(id, length: length, hashes: hashes)
        if isNew, isCounted(id, from: connection), let key = connection.session.remote?.peerKey {
            limitedPeers[key, default: LimitedPeer()].attachments.begin(id, length: length)
        }
        return state
    }

    /// Removes an attachment that is not wanted and of which no chunk was received.
    func removeIfEmpty(_ id: AttachmentID) {
        guard let attachments, files.wanted[id] == nil,
            let incoming = (try? attachments.incoming(id)) ?? nil, incoming.receivedLength == 0,
            (try? attachments.abandon(id)) != nil
        else { return }
        for key in limitedPeers.keys { limitedPeers[key]?.attachments.remove(id) }
    }
}
