import SheafDocument
import SheafEngine
import SheafStorage
import SheafSync

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
