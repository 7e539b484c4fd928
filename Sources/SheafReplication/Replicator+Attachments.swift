package import SheafAttachments
package import SheafDocument
import SheafSync

/// Attachments that are requested from other peers, for this peer or on behalf of others.
///
/// A request has a hop limit. Each peer forwards to each neighbor the highest limit received from
/// the other neighbors, minus one. So requests need no IDs, do not circulate for long, and end when
/// their originator cancels them.
extension Replicator {
    /// The state of all attachment fetches.
    struct Files {
        package var wanted: [AttachmentID: WantedAttachment] = [:]
        /// The wanted attachments in the order of their requests.
        var order: [AttachmentID] = []
        /// Whether sessions may have new effects.
        var isStirred = false
        /// Number of the connection that was served last.
        var lastServedConnection: UInt64 = 0
        /// The time at which the wanted attachments were last marked as in use.
        var touchedAt: UInt64 = 0
        /// Attachments fetched for this peer whose tokens may be unproven, stored here or not.
        var possiblyUnproven: Set<AttachmentID> = []
        /// The times of the next and the last check of unproven tokens.
        var tokenCheckAt: UInt64?
        var tokensCheckedAt: UInt64 = 0
        /// Number of attachments that are fetched only for other peers.
        var relayedCount: Int { wanted.values.count { !$0.isOwn } }

        /// Maximum number of attachments fetched for other peers at a time.
        static let maximumRelayed = 64
        /// Time without a received part after which other peers are asked, in nanoseconds.
        static let stallNanoseconds: UInt64 = 20_000_000_000
        /// Minimum time between two checks of read access or of tokens, in nanoseconds.
        static let checkNanoseconds: UInt64 = 1_000_000_000
        static let touchNanoseconds: UInt64 = 60_000_000_000
    }

    /// An attachment that is being fetched.
    struct WantedAttachment {
        package enum Phase {
            /// The chunk hashes have not been requested.
            case seeking
            /// One peer sends the chunk hashes.
            case listing(connection: UInt64, length: Int, hashes: [UInt8], asked: Int)
            case loading(IncomingAttachment)
        }

        var isOwn = false
        var phase = Phase.seeking
        /// The first chunk that was not requested yet.
        var next = 0
        /// Earlier chunks that must be requested again.
        var again: [Int] = []
        /// Keys of peers that have sent wrong data of the attachment.
        var distrustedKeys: Set<[UInt8]> = []
    }

    /// The attachment state of one connection.
    struct AttachmentExchange {
        /// An attachment request of the remote peer.
        struct AttachmentRequest {
            var hops: Int
            /// Whether the peer may read the attachment.
            package var mayRead = false
        }

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
        /// The time at which the oldest request was sent or the last part was received.
        var lastReceipt: UInt64 = 0
        /// Whether the peer timed out and other peers were asked for its parts.
        var isStalled = false
        /// The times of the next and the last check of which attachments the peer may read.
        var checkAt: UInt64?
        var checkedAt: UInt64 = 0
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
        /// Wanted attachments that a document names which the peer may read.
        var readable: Set<AttachmentID> = []
    }

    /// The progress of an attachment fetch.
    package enum FetchUpdate: Sendable {
        case progress(received: Int, length: Int)
        case complete(length: Int)
        case failed(AttachmentError)
    }

    // MARK: Requests

    /// Starts to fetch an attachment for this peer.
    package func fetch(_ id: AttachmentID, at now: UInt64) {
        self.now = now
        recordWantedHere(id)
        requestAttachment(id, isOwn: true)
        processAttachments()
    }

    /// Stops fetching an attachment for this peer; received chunks are kept for a while.
    package func cancelFetch(_ id: AttachmentID) {
        guard files.wanted[id]?.isOwn ?? false else { return }
        files.wanted[id]?.isOwn = false
        review(id)
        processAttachments()
    }

    private func requestAttachment(_ id: AttachmentID, isOwn: Bool) {
        guard let attachments else { return }
        if files.wanted[id] == nil {
            guard isOwn || files.relayedCount < Files.maximumRelayed else { return }
            files.wanted[id] = WantedAttachment()
            files.order.append(id)
        }
        if isOwn { files.wanted[id]?.isOwn = true }
        do throws(AttachmentError) {
            try begin(id, with: try attachments.beginFetch(id))
        } catch {
            return failFile(id, error)
        }
        sendHopLimit(id)
    }

    /// Starts or continues a fetch from its stored state.
    func begin(
        _ id: AttachmentID, with state: AttachmentStore.FetchState
    ) throws(AttachmentError) {
        switch state {
        case .unknown: break
        case .complete: try completeFile(id)
        case .incoming(let incoming):
            if case .loading(let known)? = files.wanted[id]?.phase, known === incoming {
                return report(id)
            }
            files.wanted[id]?.phase = .loading(incoming)
            files.wanted[id]?.next = 0
            files.wanted[id]?.again = []
            report(id)
        }
    }

    /// Reports the progress of a fetch for this peer.
    func report(_ id: AttachmentID) {
        guard let file = files.wanted[id], file.isOwn, case .loading(let incoming) = file.phase
        else { return }
        emit(
            .fetched(
                id, .progress(received: incoming.receivedLength, length: incoming.length)))
    }

    /// Starts or stops fetching an attachment for other peers, according to their requests.
    func review(_ id: AttachmentID) {
        let isRelayed = connections.values.contains { connection in
            // A request with one hop left is not forwarded.
            guard let request = connection.files.sought[id] else { return false }
            return request.mayRead && request.hops > 1
        }
        switch files.wanted[id] {
        case nil where isRelayed: requestAttachment(id, isOwn: false)
        case let file? where !file.isOwn && !isRelayed: removeRequest(id)
        default: sendHopLimit(id)
        }
    }

    private func removeRequest(_ id: AttachmentID) {
        guard let file = files.wanted.removeValue(forKey: id) else { return }
        // Chunks received so far are kept for a later fetch.
        if case .loading(let incoming) = file.phase { _ = try? incoming.flush() }
        removeIfEmpty(id)
        files.order.removeAll { $0 == id }
        for connection in connections.values { connection.files.readable.remove(id) }
        sendHopLimit(id)
        // Other requests may be within the limit.
        if files.order.count >= SyncLimits.soughtAttachments {
            for connection in orderedConnections { sendAttachmentRequests(connection) }
        }
    }

    /// Ends a successful fetch and offers the attachment to the peers that request it.
    func completeFile(_ id: AttachmentID) throws(AttachmentError) {
        guard let list = try attachments?.chunkList(of: id) else { throw .missing(id) }
        let isOwn = files.wanted[id]?.isOwn ?? false
        removeRequest(id)
        if isOwn { emit(.fetched(id, .complete(length: list.length))) }
        for connection in orderedConnections { offer(id, to: connection) }
    }

    func failFile(_ id: AttachmentID, _ error: AttachmentError) {
        let isOwn = files.wanted[id]?.isOwn ?? false
        removeRequest(id)
        if isOwn { emit(.fetched(id, .failed(error))) }
    }

    /// Sends the hop limit of a request to each peer for which it has changed.
    func sendHopLimit(_ id: AttachmentID) {
        checkTokensSoon()
        for connection in orderedConnections { sendHopLimit(id, to: connection) }
    }

    /// Sends the requests for all wanted attachments to one peer.
    func sendAttachmentRequests(_ connection: Connection) {
        for id in files.order { sendHopLimit(id, to: connection) }
    }

    private func sendHopLimit(_ id: AttachmentID, to connection: Connection) {
        guard connection.session.isOpen else { return }
        let hops = hops(of: id, to: connection)
        let sentHops = connection.files.sentHopLimits[id] ?? 0
        guard hops != sentHops else { return }
        guard sentHops > 0 || connection.files.sentHopLimits.count < SyncLimits.soughtAttachments
        else {
            return
        }
        connection.files.sentHopLimits[id] = hops > 0 ? hops : nil
        // The remote peer forgets its offer, too.
        if hops == 0 { connection.files.offered[id] = nil }
        connection.session.seek(Seek(id: id.bytes, hops: hops))
        files.isStirred = true
    }

    private func hops(of id: AttachmentID, to connection: Connection) -> Int {
        // A proof is requested in the same way whether or not the attachment is wanted.
        guard connection.files.check(of: id) == nil else { return SyncLimits.hops }
        guard let file = files.wanted[id] else { return 0 }
        // An attachment that must be hidden from the peer is not requested from it.
        guard !isLimited(connection) || connection.files.readable.contains(id) else {
            checkSoon(connection)
            return 0
        }
        guard !file.isOwn else { return SyncLimits.hops }
        let others = connections.values.compactMap { other -> Int? in
            guard other !== connection, let request = other.files.sought[id], request.mayRead else {
                return nil
            }
            return request.hops - 1
        }
        return max(others.max() ?? 0, 0)
    }

    // MARK: Time

    /// Performs the attachment work that is due; serves at most one part.
    func tickFiles() {
        guard attachments != nil else { return }
        checkTokens()
        for connection in orderedConnections {
            checkReaders(connection)
            checkStall(connection)
        }
        serveNextPart()
        if !files.wanted.isEmpty, files.touchedAt + Files.touchNanoseconds <= now {
            files.touchedAt = now
            for id in files.order { attachments?.touch(id) }
        }
        processAttachments()
    }

    /// The time at which attachment work is due next; nil if none is.
    var filesDeadline: UInt64? {
        if connections.values.contains(where: { $0.session.nextServed != nil }) { return now }
        var deadlines = connections.values.compactMap(\.files.checkAt)
        for connection in connections.values
        where !connection.files.requestedParts.isEmpty && connection.session.isOpen {
            deadlines.append(connection.files.lastReceipt + Files.stallNanoseconds)
        }
        if let time = files.tokenCheckAt { deadlines.append(time) }
        if !files.wanted.isEmpty { deadlines.append(files.touchedAt + Files.touchNanoseconds) }
        return deadlines.min()
    }

    /// Requests parts and handles the effects of sessions until there are none.
    func processAttachments() {
        requestParts()
        while files.isStirred {
            files.isStirred = false
            for connection in orderedConnections { handle(connection) }
            requestParts()
        }
    }

    /// Checks all requests after a commit, which may name or complete attachments.
    func checkFiles() {
        guard let attachments else { return }
        checkTokensSoon()
        for id in files.order where (try? attachments.has(id)) ?? false {
            do throws(AttachmentError) { try completeFile(id) } catch { failFile(id, error) }
        }
        for connection in orderedConnections {
            answerProofs(on: connection)
            for id in connection.files.sought.keys.sorted(by: { $0.description < $1.description }) {
                offer(id, to: connection)
            }
            let seeksUnread = connection.files.sought.values.contains { !$0.mayRead }
            let isUnknown =
                isLimited(connection) && !connection.files.readable.isSuperset(of: files.order)
            if seeksUnread || isUnknown { checkSoon(connection) }
        }
    }

    /// Makes the received chunks durable, so that they are not fetched again.
    func flushChunks() {
        for file in files.wanted.values {
            if case .loading(let incoming) = file.phase { _ = try? incoming.flush() }
        }
    }

    /// Cancels the requests of a connection that has ended.
    func cancelRequests(_ connection: Connection) {
        for part in connection.files.requestedParts { requeue(part, of: connection) }
        connection.files.requestedParts = []
        for check in connection.files.checks { removeIfEmpty(check.id) }
        for id in connection.files.sought.keys.sorted(by: { $0.description < $1.description }) {
            review(id)
        }
    }
}
