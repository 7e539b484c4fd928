package import SheafDocument
import SheafEngine
package import SheafStorage
import SheafSync

/// The state of a peer with limited rights, kept across its connections.
struct LimitedPeer {
    /// Number of the last batch sent to the peer.
    ///
    /// Commit numbers would also count commits that the peer may not read.
    var stepCount: UInt64 = 0
    /// Documents sent by the peer in an older state and not yet acknowledged in the newer one.
    private(set) var repairs: Set<DocumentAddress> = []
    /// Documents received from the peer and written.
    var received = ReceivedDocuments()
    /// Documents that the peer sent in an older state before its subscription was accepted.
    ///
    /// The read rule is evaluated on them later.
    private(set) var unjudged: Set<DocumentAddress> = []
    /// Writes of the peer to documents that it may not read.
    var shadows = ShadowTable()

    /// Maximum number of read repairs of one peer; beyond it the peer reconciles.
    static let maximumRepairs = 4_096

    /// Adds a read repair; beyond the maximum, removes all of them and returns false.
    mutating func repair(_ address: DocumentAddress) -> Bool {
        repairs.insert(address)
        guard repairs.count > Self.maximumRepairs else { return true }
        repairs = []
        return false
    }

    /// Adds a document that the peer sent in an older state.
    ///
    /// Beyond the maximum, removes all such documents: the peer reconciles when it subscribes.
    mutating func judgeLater(_ address: DocumentAddress) {
        unjudged.insert(address)
        if unjudged.count > Self.maximumRepairs { unjudged = [] }
    }

    /// Removes and returns the documents on which the read rule is not evaluated yet.
    mutating func drainUnjudged() -> Set<DocumentAddress> {
        defer { unjudged = [] }
        return unjudged
    }

    mutating func recordRepaired(_ addresses: Set<DocumentAddress>) {
        repairs.subtract(addresses)
    }
}

/// The sending state of a connection whose peer has limited rights.
struct LimitedSender {
    /// An unacknowledged batch.
    struct Step {
        let number: UInt64
        /// The commit whose state the peer has once it acknowledges the batch.
        package let commit: CommitID
        let repairs: Set<DocumentAddress>
    }

    /// A document that the peer sent in an older state.
    struct Repair {
        /// The local commit that must be durable before the repair is sent.
        let requiredCommit: CommitID
        package let address: DocumentAddress
        let before: StoredDocument?
    }

    /// A batch whose documents are being selected.
    struct Draft {
        let changed: [[UInt8]: LimitedChanges.Change]
        /// Number of bytes counted for `changed`.
        let length: Int
        let named: [DocumentAddress]
        var advance: RankingAdvance?
        var hasAdvanced = false
        var entered: Set<[UInt8]> = []
        /// Keys of the changed documents, in order; those before `next` are decided.
        var keys: [[UInt8]]
        var next = 0
        var found: [[UInt8]] = []
        var outgoing: Outgoing
    }

    /// Documents changed since the last batch.
    var changes = LimitedChanges()
    /// Whether the next iteration evaluates the queries on further changes or repairs.
    var isJudging = false
    /// Documents sent regardless of whether they match.
    var named: Set<DocumentAddress> = []
    /// Repairs to send when their commits are durable, unless the document matched before.
    var repairs: [Repair] = []
    var draft: Draft?
    /// The documents of the part being filled.
    private var part: [ShippedDocument] = []
    private(set) var partLength = 0
    /// Hashes of the versions sent by read repair.
    ///
    /// A version is not repaired twice: a peer whose write is refused sends it again after each
    /// repair.
    var repaired: [DocumentAddress: UInt64] = [:]
    package var steps: [Step] = []

    /// Whether no changes, named documents, repairs or draft are pending.
    var isIdle: Bool {
        changes.isEmpty && named.isEmpty && repairs.isEmpty && draft == nil
    }

    /// Number of bytes counted for the pending changed documents.
    var changeLength: Int { changes.length + (draft?.length ?? 0) }

    /// Discards the changes, after which the two sides must reconcile.
    mutating func discardChanges() {
        (changes, draft) = (LimitedChanges(), nil)
    }

    package mutating func add(_ document: ShippedDocument) {
        part.append(document)
        partLength += document.id.count + document.bytes.count
    }

    mutating func removePart() -> [ShippedDocument] {
        defer { (part, partLength) = ([], 0) }
        return part
    }
}

/// States that a peer has sent of documents hidden from it.
///
/// Responses to the peer treat these states as the documents. They are kept in memory only: after a
/// reopening or beyond the maximum, reconciliation shows the peer that its writes were not
/// accepted.
package struct ShadowTable: Sendable {
    private(set) var documents: [DocumentAddress: [UInt8]] = [:]
    /// Results of the read rule, with the log positions for which they hold.
    private var hidden: [DocumentAddress: (position: LogPosition, isHidden: Bool)] = [:]
    private var order: [DocumentAddress] = []
    private var length = 0

    /// Maximum number of documents of one peer, and of bytes of their states and addresses.
    package static let maximumCount = 256
    package static let maximumBytes = 1 << 20

    /// Sets or removes the state of a document; removes the oldest states beyond the maximum.
    mutating func set(_ address: DocumentAddress, _ bytes: [UInt8]?) {
        remove(address)
        // An oversized state would remove all others and then itself.
        guard let bytes, address.memoryLength + bytes.count <= Self.maximumBytes else { return }
        documents[address] = bytes
        order.append(address)
        length += address.memoryLength + bytes.count
        while order.count > Self.maximumCount || length > Self.maximumBytes,
            let oldest = order.first
        {
            remove(oldest)
        }
    }

    /// Whether a document with its newest operation at `position` is hidden; nil if not evaluated.
    func isHidden(_ address: DocumentAddress, at position: LogPosition) -> Bool? {
        guard let known = hidden[address], known.position == position else { return nil }
        return known.isHidden
    }

    /// Records whether a document with its newest operation at `position` is hidden.
    package mutating func record(
        _ address: DocumentAddress, isHidden: Bool, at position: LogPosition
    ) {
        guard documents[address] != nil else { return }
        hidden[address] = (position, isHidden)
    }

    package mutating func remove(_ address: DocumentAddress) {
        hidden[address] = nil
        guard let bytes = documents.removeValue(forKey: address) else { return }
        length -= address.memoryLength + bytes.count
        order.removeAll { $0 == address }
    }
}
