import SheafStorage
import SheafSync

/// The state of a peer with limited rights, kept over all its connections.
struct LimitedPeer {
    /// Number of the last step that was sent to it.
    ///
    /// Steps have numbers of their own: those of commits count documents that the peer may not read.
    var stepCount: UInt64 = 0
    /// Documents of which it has sent an older state and has not acknowledged the newer one.
    private(set) var corrections: Set<DocumentAddress> = []
    /// Documents received from the peer and written.
    var brought = BroughtDocuments()
    /// Documents of which the peer sent an older state before its subscription was accepted; the read rule is
    /// evaluated on them later.
    private(set) var unjudged: Set<DocumentAddress> = []
    /// Attachments received from the peer and kept for other peers.
    var attachments = BroughtAttachments()
    /// Writes of the peer to documents that it may not read.
    var shadows = ShadowTable()

    /// Maximum number of corrections of one peer; beyond it the peer compares.
    static let mostCorrections = 4_096

    /// Adds a correction; beyond the maximum, removes all of them and returns false.
    mutating func correct(_ address: DocumentAddress) -> Bool {
        corrections.insert(address)
        guard corrections.count > Self.mostCorrections else { return true }
        corrections = []
        return false
    }

    /// Adds a document of which the peer has sent an older state; beyond the maximum, removes all of them, since the
    /// peer compares when it subscribes.
    mutating func judgeLater(_ address: DocumentAddress) {
        unjudged.insert(address)
        if unjudged.count > Self.mostCorrections { unjudged = [] }
    }

    /// Removes and returns the documents on which the read rule was not evaluated yet.
    mutating func takeUnjudged() -> Set<DocumentAddress> {
        defer { unjudged = [] }
        return unjudged
    }

    mutating func noteCorrected(_ addresses: Set<DocumentAddress>) {
        corrections.subtract(addresses)
    }
}

/// The sending state of a connection whose peer has limited rights.
struct LimitedTelling {
    /// A step that was not acknowledged.
    struct Step {
        let number: UInt64
        /// The commit whose state the peer has once it acknowledges the step.
        let commit: CommitID
        let corrections: Set<DocumentAddress>
    }

    /// A document of which the peer has sent an older state.
    struct Correction {
        /// The commit here that must be durable before the correction is sent.
        let here: CommitID
        let address: DocumentAddress
        let before: StoredDocument?
    }

    /// A step whose documents are being chosen.
    struct Draft {
        let changed: [[UInt8]: LimitedChanges.Change]
        /// Number of bytes counted for `changed`.
        let length: Int
        let named: [DocumentAddress]
        var advance: RankingAdvance?
        var hasAdvanced = false
        var entered: Set<[UInt8]> = []
        /// Keys of the changed documents, in order, and the number of them already decided.
        var keys: [[UInt8]]
        var next = 0
        var found: [[UInt8]] = []
        var outgoing: SyncHost.Outgoing
    }

    /// Documents changed since the last step.
    var changes = LimitedChanges()
    /// Whether the next turn evaluates the queries on further changes or corrections.
    var isJudging = false
    /// Documents that are sent whether they match or not.
    var named: Set<DocumentAddress> = []
    /// Corrections to send when a commit here is durable, unless the document matched before.
    var corrections: [Correction] = []
    var draft: Draft?
    /// The documents of a part that is not complete.
    private var part: [ShippedDocument] = []
    private(set) var partLength = 0
    /// Hashes of the versions in which documents were corrected: a peer whose writes are refused would send the
    /// same again with each correction.
    var corrected: [DocumentAddress: UInt64] = [:]
    var steps: [Step] = []

    /// Whether nothing waits to be sent.
    var isIdle: Bool {
        changes.isEmpty && named.isEmpty && corrections.isEmpty && draft == nil
    }

    /// Number of bytes counted for the changed documents that wait to be sent.
    var changeLength: Int { changes.length + (draft?.length ?? 0) }

    /// Discards the changes: the two sides compare instead.
    mutating func forgetChanges() {
        (changes, draft) = (LimitedChanges(), nil)
    }

    mutating func add(_ document: ShippedDocument) {
        part.append(document)
        partLength += document.id.count + document.bytes.count
    }

    mutating func takePart() -> [ShippedDocument] {
        defer { (part, partLength) = ([], 0) }
        return part
    }
}

/// The states that a peer has sent of documents hidden from it: answers to the peer treat these states as the
/// documents.
///
/// They are in memory only. A peer that has more of them than are kept, or that comes after an opening, sees
/// when it compares that they were not taken.
struct ShadowTable: Sendable {
    private(set) var documents: [DocumentAddress: [UInt8]] = [:]
    /// Whether the stored documents are hidden, with the positions of their newest operations.
    private var hidden: [DocumentAddress: (position: LogPosition, isHidden: Bool)] = [:]
    private var order: [DocumentAddress] = []
    private var length = 0

    /// Maximum number of documents of one peer, and of their bytes.
    static let most = 256
    static let mostBytes = 1 << 20

    /// Sets or removes the state that a peer has sent of a document; removes the oldest ones beyond the maximum.
    mutating func set(_ address: DocumentAddress, _ bytes: [UInt8]?) {
        remove(address)
        // One that is too long would remove all others, and then itself.
        guard let bytes, address.memoryLength + bytes.count <= Self.mostBytes else { return }
        documents[address] = bytes
        order.append(address)
        length += address.memoryLength + bytes.count
        while order.count > Self.most || length > Self.mostBytes, let oldest = order.first {
            remove(oldest)
        }
    }

    /// Whether a document with its newest operation at a position is hidden; nil if the read rule was not evaluated
    /// on that state.
    func isHidden(_ address: DocumentAddress, at position: LogPosition) -> Bool? {
        guard let known = hidden[address], known.position == position else { return nil }
        return known.isHidden
    }

    /// Records whether a document is hidden.
    mutating func note(_ address: DocumentAddress, isHidden: Bool, at position: LogPosition) {
        guard documents[address] != nil else { return }
        hidden[address] = (position, isHidden)
    }

    mutating func remove(_ address: DocumentAddress) {
        hidden[address] = nil
        guard let bytes = documents.removeValue(forKey: address) else { return }
        length -= address.memoryLength + bytes.count
        order.removeAll { $0 == address }
    }
}
