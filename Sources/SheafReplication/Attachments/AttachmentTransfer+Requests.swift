import SheafAttachments
package import SheafDocument
import SheafSync

/// Requests for attachments, for this peer or on behalf of others.
///
/// A request has a hop limit. Each peer forwards to each neighbor the highest limit received from
/// the other neighbors, minus one. So requests need no IDs, do not circulate for long, and end when
/// their originator cancels them.
extension AttachmentTransfer {
    /// Starts to fetch an attachment for this peer.
    package mutating func fetch(_ id: AttachmentID) {
        recordWantedHere(id)
        requestAttachment(id, for: .own)
    }

    /// Stops fetching an attachment for this peer; received chunks are kept for a later fetch.
    package mutating func cancelFetch(_ id: AttachmentID) {
        guard wanted[id]?.isOwn ?? false else { return }
        wanted[id]?.isOwn = false
        review(id)
    }

    /// The attachments that this peer or others fetch, in the order of their requests.
    var fetched: [AttachmentID] { order.filter { wanted[$0]?.isOwn == true || isRelayed($0) } }

    /// Fetches these attachments for the object store, and ends other fetches for it.
    mutating func seekForHub(_ ids: Set<AttachmentID>) {
        for id in order where wanted[id]?.isForHub == true && !ids.contains(id) {
            wanted[id]?.isForHub = false
            review(id)
        }
        for id in ids.sorted(by: { $0.description < $1.description })
        where wanted[id]?.isForHub != true {
            recordWantedHere(id)
            requestAttachment(id, for: .hub)
        }
    }

    /// Requests the proofs of attachments that may be stored here.
    mutating func requestProofs(of ids: Set<AttachmentID>) {
        for id in ids { recordWantedHere(id) }
    }

    /// The receiver of an attachment that is fetched.
    enum Fetcher { case own, hub, others }

    mutating func requestAttachment(_ id: AttachmentID, for fetcher: Fetcher) {
        guard let attachments else { return }
        if wanted[id] == nil {
            // New requests do not overtake those that wait.
            if fetcher == .others, relays.mustWait || !hasRoom {
                return relays.wait(at: now, hasRoom: hasRoom)
            }
            wanted[id] = WantedAttachment(since: now)
            order.append(id)
        }
        switch fetcher {
        case .own: wanted[id]?.isOwn = true
        case .hub: wanted[id]?.isForHub = true
        case .others: break
        }
        do throws(AttachmentError) {
            try begin(id, with: try attachments.beginFetch(id))
        } catch {
            return failFile(id, error)
        }
        sendHopLimit(id)
    }

    /// Starts or continues a fetch from its stored state.
    mutating func begin(
        _ id: AttachmentID, with state: AttachmentStore.FetchState
    ) throws(AttachmentError) {
        switch state {
        case .unknown: break
        case .complete: try completeFile(id)
        case .incoming(let incoming):
            if case .loading(let known)? = wanted[id]?.phase, known === incoming {
                return report(id)
            }
            wanted[id]?.phase = .loading(incoming)
            wanted[id]?.next = 0
            wanted[id]?.again = []
            report(id)
        }
    }

    /// Reports the progress of a fetch for this peer.
    mutating func report(_ id: AttachmentID) {
        guard let file = wanted[id], file.isOwn, case .loading(let incoming) = file.phase
        else { return }
        effects.append(
            .fetched(
                id, .progress(received: incoming.receivedLength, length: incoming.length)))
    }

    /// Ends the fetch of an attachment, for all that requested it.
    mutating func removeRequest(_ id: AttachmentID) {
        guard let file = wanted.removeValue(forKey: id) else { return }
        // Chunks received so far are kept for a later fetch.
        if case .loading(let incoming) = file.phase { _ = try? incoming.flush() }
        removeIfEmpty(id)
        order.removeAll { $0 == id }
        for number in numbers { self[number].readable.remove(id) }
        sendHopLimit(id)
        // Other requests may now be within the limit.
        if !file.isForThisPeer { relays.useRoom(at: now) }
        if order.count >= SyncLimits.soughtAttachments {
            for number in numbers { sendRequests(to: number) }
        }
    }

    /// Ends a successful fetch and offers the attachment to the peers that request it.
    mutating func completeFile(_ id: AttachmentID) throws(AttachmentError) {
        guard let list = try attachments?.chunkList(of: id) else { throw .missing(id) }
        let isOwn = wanted[id]?.isOwn ?? false
        removeRequest(id)
        if isOwn { effects.append(.fetched(id, .complete(length: list.length))) }
        for number in active { offer(id, to: number) }
    }

    mutating func failFile(_ id: AttachmentID, _ error: AttachmentError) {
        let isOwn = wanted[id]?.isOwn ?? false
        removeRequest(id)
        relays.recordFailure(of: id, at: now)
        if isOwn { effects.append(.fetched(id, .failed(error))) }
    }

    /// Sends the hop limit of a request to each peer for which it has changed.
    mutating func sendHopLimit(_ id: AttachmentID) {
        checkTokensSoon()
        let requests = relayedRequests(of: id)
        for number in numbers { sendHopLimit(id, to: number, requests) }
    }

    /// Sends the requests for all wanted attachments to one peer.
    mutating func sendRequests(to number: UInt64) {
        for id in order { sendHopLimit(id, to: number, relayedRequests(of: id)) }
    }

    private mutating func sendHopLimit(
        _ id: AttachmentID, to number: UInt64, _ requests: RelayedRequests
    ) {
        let hops = hops(of: id, to: number, requests)
        let sentHops = self[number].sentHopLimits[id] ?? 0
        guard hops != sentHops else { return }
        guard sentHops > 0 || self[number].sentHopLimits.count < SyncLimits.soughtAttachments
        else {
            return
        }
        self[number].sentHopLimits[id] = hops > 0 ? hops : nil
        // The remote peer discards its offer, too.
        if hops == 0 { self[number].offered[id] = nil }
        send(.seek(Seek(id: id.bytes, hops: hops)), to: number)
    }

    private mutating func hops(
        of id: AttachmentID, to number: UInt64, _ requests: RelayedRequests
    ) -> Int {
        // A proof is requested in the same way whether or not the attachment is wanted.
        guard self[number].check(of: id) == nil else { return SyncLimits.hops }
        guard let file = wanted[id] else { return 0 }
        // An attachment that must be hidden from the peer is not requested from it.
        guard !self[number].access.needsProofs || self[number].readable.contains(id) else {
            checkSoon(id, by: number)
            return 0
        }
        guard !file.isForThisPeer else { return SyncLimits.hops }
        return max(requests.hops(but: number) - 1, 0)
    }
}
