import SheafSync

/// Limits the bytes of attachments that this peer keeps for others from each peer with limited rights.
///
/// Attachments that this peer fetches for itself do not count.
extension SyncHost {
    /// Whether `length` more bytes of an attachment from the other side may be kept; logs when a quota is
    /// reached.
    func mayKeep(_ length: Int, of id: AttachmentID, from link: Link) -> Bool {
        guard isCounted(id, from: link), let key = link.session.remote?.peerKey else { return true }
        let quota = lengths.broughtAttachments
        var brought = limitedPeers[key]?.attachments ?? BroughtAttachments()
        let isReviewDue = brought.reviewedAt.map { $0 + Files.checkNanoseconds <= now } ?? true
        if brought.length(adding: length, of: id) > quota, isReviewDue,
            let ids = try? attachments?.ids
        {
            brought.keepOnly(Set(ids))
            brought.reviewedAt = now
            limitedPeers[key, default: LimitedPeer()].attachments = brought
        }
        guard brought.length(adding: length, of: id) > quota else {
            change(link) { $0.attachmentQuotaReason = nil }
            return true
        }
        if statuses[key]?.attachmentQuotaReason == nil {
            queries.log?.write(
                .warning,
                "a peer with limited rights has used up its quota of attachments, and more of them are not fetched "
                    + "for others",
                [
                    "peer": PeerKey(unchecked: key).description, "kept": "\(brought.length)",
                    "quota": "\(quota)",
                ])
        }
        change(link) {
            $0.attachmentQuotaReason =
                "its attachments are not fetched for others: they exceed its quota of \(quota) bytes"
        }
        return false
    }

    /// Counts bytes of an attachment received from the other side of a connection.
    func noteKept(_ length: Int, of id: AttachmentID, from link: Link) {
        guard isCounted(id, from: link), let key = link.session.remote?.peerKey else { return }
        limitedPeers[key, default: LimitedPeer()].attachments.add(length, of: id)
    }

    private func isCounted(_ id: AttachmentID, from link: Link) -> Bool {
        isLimited(link) && files.wanted[id]?.isOwn != true
    }

    /// Stops fetching an attachment that exceeds the quota of a peer from that peer.
    func decline(_ id: AttachmentID, from link: Link) {
        link.files.offered[id] = nil
        if case .listing(link.number, _, _, _)? = files.wanted[id]?.phase {
            files.wanted[id]?.phase = .seeking
        }
    }

    /// Begins an attachment whose hashes came from the other side, and counts its full length if it was not here.
    ///
    /// Otherwise a peer that sends no chunk could begin any number of attachments.
    func beginFetch(
        _ id: AttachmentID, length: Int, hashes: [UInt8], from link: Link,
        in attachments: AttachmentStore
    ) throws(AttachmentError) -> AttachmentStore.FetchState {
        let isNew = try attachments.entry(id) == nil
        let state = try attachments.beginFetch(id, length: length, hashes: hashes)
        if isNew, isCounted(id, from: link), let key = link.session.remote?.peerKey {
            limitedPeers[key, default: LimitedPeer()].attachments.begin(id, length: length)
        }
        return state
    }

    /// Removes an attachment of which no chunk has come, and which is no longer wanted.
    func removeIfEmpty(_ id: AttachmentID) {
        guard let attachments, files.wanted[id] == nil,
            let incoming = (try? attachments.incoming(id)) ?? nil, incoming.receivedLength == 0,
            (try? attachments.abandon(id)) != nil
        else { return }
        for key in limitedPeers.keys { limitedPeers[key]?.attachments.remove(id) }
    }
}
