package import SheafDocument
package import SheafEngine
package import SheafStorage

/// The documents that reference attachments which peers request, found by one scan for all of them.
///
/// Later commits are read from the log: to check the rights of a peer again costs the documents
/// that reference its attachments, not all documents.
package struct ReferencingDocuments {
    /// Maximum number of attachments in one scan, unless one peer requests more.
    package static let maximumAttachments = 4_096
    /// Maximum number of documents that are kept for an attachment.
    package static let maximumDocuments = 256

    /// The documents by attachment, and the attachments by document.
    private var documents: [AttachmentID: Set<[UInt8]>] = [:]
    private var attachments: [[UInt8]: Set<AttachmentID>] = [:]
    /// Attachments with more documents than are kept.
    package private(set) var common: Set<AttachmentID> = []
    /// Whether the scan has found unreadable documents.
    package private(set) var isIncomplete = false
    /// The commit up to which the documents are known.
    private var commit: CommitID = 0
    private var changed: Set<AttachmentID> = []
    private var isAllChanged = false

    /// The attachments whose readers may have changed.
    package enum Changes: Equatable {
        case some(Set<AttachmentID>)
        case all
    }

    package init() {}

    package var isEmpty: Bool { documents.isEmpty }

    /// Whether the documents that reference an attachment are known.
    package func covers(_ id: AttachmentID) -> Bool { documents[id] != nil }

    /// Returns the keys of the kept documents that have referenced an attachment, in order.
    package func keys(referencing id: AttachmentID) -> [[UInt8]] {
        (documents[id] ?? []).sorted { $0.lexicographicallyPrecedes($1) }
    }

    /// Finds the documents that reference attachments, and no others from then on.
    package mutating func scan(for wanted: Set<AttachmentID>, in snapshot: DocumentSnapshot) {
        var found = ReferencingDocuments()
        for id in wanted { found.documents[id] = [] }
        found.isIncomplete = snapshot.forEachReadable(referencing: wanted) { key, _, ids in
            for id in ids { found.add(key, to: id) }
            return true
        }
        found.commit = snapshot.log.commit
        (found.changed, found.isAllChanged) = (changed, isAllChanged || commit != found.commit)
        self = found
    }

    private mutating func add(_ key: [UInt8], to id: AttachmentID) {
        guard let count = documents[id]?.count, documents[id]?.contains(key) == false else {
            return
        }
        guard count < Self.maximumDocuments else {
            common.insert(id)
            return
        }
        documents[id]?.insert(key)
        attachments[key, default: []].insert(id)
    }

    // MARK: Commits

    /// Reads the commits up to a snapshot.
    package mutating func advance(to snapshot: DocumentSnapshot) {
        guard commit != snapshot.log.commit else { return }
        guard !documents.isEmpty, commit >= snapshot.log.compactedThrough,
            commit < snapshot.log.commit
        else { return reset(at: snapshot.log.commit) }
        do throws(EngineError) {
            let range = (commit + 1)...snapshot.log.commit
            try snapshot.forEachCommit(in: range) { (operations, _) throws(EngineError) in
                for logged in operations { try record(logged.operation, in: snapshot) }
            }
            commit = snapshot.log.commit
        } catch {
            // The next scan finds the documents that are readable.
            reset(at: snapshot.log.commit)
        }
    }

    /// Forgets all documents.
    package mutating func reset(at commit: CommitID) {
        self = ReferencingDocuments()
        self.commit = commit
        isAllChanged = true
    }

    private mutating func record(
        _ operation: Operation, in snapshot: DocumentSnapshot
    ) throws(EngineError) {
        switch StoreKey(operation.key) {
        case .document?:
            let key = Array(operation.key)
            // Any change of a document can permit a peer to read it.
            changed.formUnion(attachments[key] ?? [])
            // The documents of a common attachment that are not kept can have changed elsewhere.
            guard operation.kind != .remove else { return }
            let hasTokens = try snapshot.mayReferenceAttachments(operation.payload, operation.key)
            guard hasTokens || !common.isEmpty else { return }
            for id in try snapshot.attachments(referencedBy: key) where covers(id) {
                add(key, to: id)
                changed.insert(id)
            }
        case .unprovenToken(let bytes, _)?:
            if bytes == UnprovenTokens.allAttachments { isAllChanged = true }
            if let id = AttachmentID(bytes: bytes), covers(id) { changed.insert(id) }
        default: break
        }
    }

    /// Returns the changes since the last call.
    package mutating func takeChanges() -> Changes {
        defer { (changed, isAllChanged) = ([], false) }
        return isAllChanged ? .all : .some(changed)
    }
}
