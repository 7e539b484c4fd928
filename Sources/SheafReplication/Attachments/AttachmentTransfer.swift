package import SheafAttachments
package import SheafDocument
package import SheafEngine
import SheafStatements
import SheafStorage
package import SheafSync
import SheafSystem

/// The transfer of attachments between this peer and the connected ones.
///
/// Its events append to `effects`, which the replicator performs in order. It reads and writes the
/// attachments of the store, but no session.
package struct AttachmentTransfer {
    /// An action that the replicator must perform.
    package enum Effect {
        case send(connection: UInt64, Message)
        /// Marks as proven the tokens that a peer with this site has sent.
        case prove(connection: UInt64, Site, [UnprovenToken])
        /// The state of a fetch for this peer has changed.
        case fetched(AttachmentID, FetchUpdate)
        /// The quota of a peer was checked; `kept` bytes are counted for it.
        case quota(connection: UInt64, isExceeded: Bool, kept: Int)
        /// Ends a connection whose requests for proofs cost too much.
        case fail(connection: UInt64)
    }

    /// A message to a peer.
    package enum Message: Equatable {
        case seek(Seek), offer(Offer), fetch(AttachmentPart), serve([UInt8]?)
        case requestProof(TokenAddress), confirm(TokenAddress)
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
        /// Whether a hub fetches it for the object store, which is no fetch of this peer: quotas
        /// apply.
        var isForHub = false
        var isForThisPeer: Bool { isOwn || isForHub }
        /// The time of the request or of its last progress, and the bytes received then.
        var since: UInt64
        var receivedLength = 0
        var phase = Phase.seeking
        /// The first chunk that was not requested yet.
        var next = 0
        /// Earlier chunks that must be requested again.
        var again: [Int] = []
        /// Keys of peers that have sent wrong data of the attachment.
        var distrustedKeys: Set<[UInt8]> = []
    }

    /// The attachment store; nil if attachments are not replicated.
    let attachments: AttachmentStore?
    let documents: DocumentEngine
    /// Maximum number of bytes kept for each peer with limited rights.
    let quota: Int
    /// The newest durable snapshot.
    var snapshot: DocumentSnapshot
    /// The documents that reference the requested attachments.
    package internal(set) var references = ReferencingDocuments()
    /// The scans that find these documents.
    var scans = ScanTurns()
    /// The scans for attachments that too many documents reference.
    var commonScans = ScanTurns()
    /// The connection whose rights were checked last.
    var lastCheckedConnection: UInt64 = 0
    /// The changes of the last commits, for the readers of attachments.
    var changes = ReferencingDocuments.Changes.all
    /// Whether all readers must be checked after the next commit.
    var mustCheckAll = false
    /// The time of the last event.
    package var now: UInt64 = 0
    package var effects: [Effect] = []

    /// The attachments exchanged with open connections, by their numbers, which `numbers` lists.
    private(set) var exchanges: [UInt64: AttachmentExchange] = [:]
    private(set) var numbers: [UInt64] = []
    /// The numbers of the connections whose exchanges are active, in order.
    private(set) var active: [UInt64] = []
    var wanted: [AttachmentID: WantedAttachment] = [:]
    /// The wanted attachments in the order of their requests.
    var order: [AttachmentID] = []
    /// Attachments received from peers with limited rights, by peer key.
    var received: [[UInt8]: ReceivedAttachments] = [:]
    /// Number of the connection that was served last.
    var lastServedConnection: UInt64 = 0
    /// The turns of attachments that wait for room.
    var relays = RelayTurns()
    /// The time at which the wanted attachments were last marked as in use.
    private var touchedAt: UInt64 = 0
    /// Attachments fetched for this peer whose tokens may be unproven, stored locally or not.
    var awaitedProofs = AwaitedProofs()
    /// The times of the next and the last check of unproven tokens.
    var tokenCheckAt: UInt64?
    var tokensCheckedAt: UInt64 = 0

    /// Whether requested proofs wait for the next iteration.
    var isCheckingProofs: Bool { active.contains { self[$0].isCheckingProofs } }

    /// Number of attachments that are fetched only for other peers.
    var relayedCount: Int { wanted.values.count { !$0.isForThisPeer } }

    /// Maximum number of attachments fetched for other peers at a time.
    package static let maximumRelayed = 64
    /// Time without a received part after which other peers are asked, in nanoseconds.
    static let stallNanoseconds: UInt64 = 20_000_000_000
    /// Minimum time between two checks of read access or of tokens, in nanoseconds.
    static let checkNanoseconds: UInt64 = 1_000_000_000
    /// Number of documents that are checked at once for the rights of peers.
    static let checkedDocuments = 1_024
    private static let touchNanoseconds: UInt64 = 60_000_000_000
    /// Time between two scans of all documents, in nanoseconds: for each document, and at most.
    package static let scanNanosecondsPerDocument: UInt64 = 5_000
    package static let longestScanNanoseconds: UInt64 = 10_000_000_000

    package init(
        _ attachments: AttachmentStore?, _ documents: DocumentEngine, quota: Int,
        _ snapshot: DocumentSnapshot
    ) {
        (self.attachments, self.documents) = (attachments, documents)
        (self.quota, self.snapshot) = (quota, snapshot)
    }

    /// The exchange of an open connection; changes to any other are discarded.
    subscript(number: UInt64) -> AttachmentExchange {
        _read {
            if let index = exchanges.index(forKey: number) {
                yield exchanges.values[index]
            } else {
                yield Self.none
            }
        }
        _modify {
            guard let index = exchanges.index(forKey: number) else {
                var none = Self.none
                yield &none
                return
            }
            let wasActive = exchanges.values[index].isActive
            defer {
                if exchanges.values[index].isActive != wasActive {
                    setActive(number, !wasActive)
                }
            }
            yield &exchanges.values[index]
        }
    }

    private mutating func setActive(_ number: UInt64, _ isActive: Bool) {
        let index = activeIndex(after: number)
        if isActive { active.insert(number, at: index) } else { active.remove(at: index - 1) }
    }

    private func activeIndex(after number: UInt64) -> Int {
        var (low, high) = (0, active.count)
        while low < high {
            let middle = (low + high) / 2
            if active[middle] > number { high = middle } else { low = middle + 1 }
        }
        return low
    }

    /// Returns the next connection after a number whose exchange is active.
    func nextActive(after number: UInt64?) -> UInt64? {
        let index = number.map(activeIndex) ?? 0
        return index < active.count ? active[index] : nil
    }

    private static var none: AttachmentExchange {
        AttachmentExchange(
            key: [], site: .initial,
            PeerAccess(nil, own: nil, SyncScopes(), until: EvaluationStop()))
    }

    /// Removes and returns the next effect; performing it may add further ones.
    package mutating func nextEffect() -> Effect? {
        effects.isEmpty ? nil : effects.removeFirst()
    }

    mutating func send(_ message: Message, to number: UInt64) {
        effects.append(.send(connection: number, message))
    }

    // MARK: Connections

    /// Adds a connection whose hello was received, and requests the wanted attachments from it.
    package mutating func open(_ number: UInt64, _ exchange: AttachmentExchange) {
        exchanges[number] = exchange
        numbers.insert(number, at: (numbers.lastIndex { $0 < number } ?? -1) + 1)
        sendRequests(to: number)
        checkTokensSoon()
        // The peer may confirm tokens that no other one does.
        if !exchange.access.needsProofs, snapshot.hasUnprovenTokens { mustCheckAll = true }
    }

    /// Removes a connection, and cancels its requests.
    package mutating func close(_ number: UInt64) {
        guard let exchange = exchanges.removeValue(forKey: number) else { return }
        numbers.removeAll { $0 == number }
        if exchange.isActive { setActive(number, false) }
        for part in exchange.requestedParts { requeue(part, of: number) }
        for check in exchange.checks { removeIfEmpty(check.id) }
        for id in exchange.sought.keys.sorted(by: { $0.description < $1.description }) {
            review(id)
        }
    }

    /// Discards the counts of received attachments of peers that are not in `connected`.
    mutating func discard(but connected: Set<[UInt8]>) {
        received = received.filter { connected.contains($0.key) }
    }

    // MARK: Time

    /// Performs the work that is due, except serving.
    package mutating func tick() {
        guard attachments != nil else { return }
        checkTokens()
        checkReaders()
        for number in active { checkStall(number) }
        admitWaiting()
        guard !wanted.isEmpty, touchedAt + Self.touchNanoseconds <= now else { return }
        touchedAt = now
        for id in order { attachments?.touch(id) }
    }

    /// The time at which work is due next; nil if none is.
    package var deadline: UInt64? {
        var deadlines = active.compactMap { self[$0].checkAt }
        deadlines += [relays.next, scans.next, commonScans.next].compactMap { $0 }
        for number in active where !self[number].requestedParts.isEmpty {
            deadlines.append(self[number].lastReceipt + Self.stallNanoseconds)
        }
        if let time = tokenCheckAt { deadlines.append(time) }
        if !wanted.isEmpty { deadlines.append(touchedAt + Self.touchNanoseconds) }
        return deadlines.min()
    }

    // MARK: Commits

    /// Completes the wanted attachments that are stored now.
    mutating func completeStored() {
        guard let attachments else { return }
        checkTokensSoon()
        for id in order where (try? attachments.has(id)) ?? false {
            do throws(AttachmentError) { try completeFile(id) } catch { failFile(id, error) }
        }
    }

    /// Returns the connections for which commits can have an effect, in order.
    ///
    /// With `areRightsChanged`, peers may read other documents than before.
    mutating func beginChecks(areRightsChanged: Bool) -> [UInt64] {
        if order.isEmpty, active.isEmpty {
            references.reset(at: snapshot.log.commit)
        } else {
            references.advance(to: snapshot)
        }
        let found = references.takeChanges()
        changes = areRightsChanged || mustCheckAll ? .all : found
        mustCheckAll = false
        // A wanted attachment may have become readable for any peer.
        return order.contains(where: mayHaveChanged) ? numbers : active
    }

    /// Whether a peer may have become able to read an attachment.
    private func mayHaveChanged(_ id: AttachmentID) -> Bool {
        guard references.covers(id), case .some(let ids) = changes else { return true }
        return ids.contains(id)
    }

    /// Returns the next connection after a number with requested proofs that wait.
    func nextCheckingProofs(after number: UInt64?) -> UInt64? {
        active[(number.map(activeIndex) ?? 0)...].first { self[$0].isCheckingProofs }
    }

    /// Checks the requests of a peer after a commit, which may name or complete attachments.
    mutating func checkRequests(of number: UInt64) {
        for id in self[number].sought.keys.sorted(by: { $0.description < $1.description }) {
            offer(id, to: number)
        }
        for id in unread(by: number) where mayHaveChanged(id) { checkSoon(id, by: number) }
    }

    /// Makes the received chunks durable, so that they are not fetched again.
    func flushChunks() {
        for file in wanted.values {
            if case .loading(let incoming) = file.phase { _ = try? incoming.flush() }
        }
    }
}
