package import SheafDocument
package import SheafEngine
import SheafStorage

/// The documents that reference attachments which peers request, found by one scan for all of them.
///
/// Later commits are read from the log: to check the rights of a peer again costs the documents
/// that reference its attachments, not all documents.
package struct ReferencingDocuments {
    /// Maximum number of attachments of other peers in one scan.
    static let maximumAttachments = 4_096
    /// Maximum number of documents that are kept for an attachment.
    package static let maximumDocuments = 256

    /// The documents by attachment, and the attachments by document.
    private var documents: [AttachmentID: Set<[UInt8]>] = [:]
    private var attachments: [[UInt8]: Set<AttachmentID>] = [:]
    /// Attachments in more documents, for which each check scans all documents.
    private var common: Set<AttachmentID> = []
    /// The commit up to which the documents are known.
    private var commit: CommitID = 0
    private var changes = Changes.some([])

    /// The attachments whose readers may have changed.
    package enum Changes: Equatable {
        case some(Set<AttachmentID>)
        case all
    }

    package init() {}

    /// Whether the documents that reference an attachment are known.
    package func covers(_ id: AttachmentID) -> Bool {
        documents[id] != nil || common.contains(id)
    }

    /// Returns the attachments among `wanted` that too many documents reference.
    package func common(among wanted: Set<AttachmentID>) -> Set<AttachmentID> {
        wanted.intersection(common)
    }

    /// Returns the keys of the documents that have referenced any of `wanted`, in order.
    package func keys(referencing wanted: Set<AttachmentID>) -> [[UInt8]] {
        var found: Set<[UInt8]> = []
        for id in wanted { found.formUnion(documents[id] ?? []) }
        return found.sorted { $0.lexicographicallyPrecedes($1) }
    }

    /// Finds the documents that reference attachments, and no others from then on.
    package mutating func scan(
        for wanted: Set<AttachmentID>, in snapshot: DocumentSnapshot
    ) throws(EngineError) {
        var found = ReferencingDocuments()
        for id in wanted { found.documents[id] = [] }
        try snapshot.forEachReferencing(wanted) { (key, _, ids) in
            for id in ids { found.add(key, to: id) }
            return true
        }
        found.commit = snapshot.log.commit
        found.changes = commit == found.commit ? changes : .all
        self = found
    }

    private mutating func add(_ key: [UInt8], to id: AttachmentID) {
        guard let count = documents[id]?.count else { return }
        guard count < Self.maximumDocuments || documents[id]?.contains(key) == true else {
            for key in documents.removeValue(forKey: id) ?? [] {
                attachments[key]?.remove(id)
                if attachments[key]?.isEmpty == true { attachments[key] = nil }
            }
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
        guard !documents.isEmpty || !common.isEmpty, commit >= snapshot.log.compactedThrough,
            commit < snapshot.log.commit
        else { return reset(at: snapshot.log.commit) }
        do throws(EngineError) {
            let range = (commit + 1)...snapshot.log.commit
            try snapshot.forEachCommit(in: range) { (operations, _) throws(EngineError) in
                for logged in operations { try record(logged.operation, in: snapshot) }
            }
            commit = snapshot.log.commit
        } catch {
            // The next scan finds the documents, or reports the error.
            reset(at: snapshot.log.commit)
        }
    }

    private mutating func reset(at commit: CommitID) {
        self = ReferencingDocuments()
        self.commit = commit
        changes = .all
    }

    private mutating func record(
        _ operation: Operation, in snapshot: DocumentSnapshot
    ) throws(EngineError) {
        switch StoreKey(operation.key) {
        case .document?:
            let key = Array(operation.key)
            // Any change of a document can permit a peer to read it.
            change(attachments[key] ?? [])
            guard operation.kind != .remove,
                try snapshot.mayReferenceAttachments(operation.payload, operation.key)
            else { return }
            for id in try snapshot.attachments(referencedBy: key) where covers(id) {
                add(key, to: id)
                change([id])
            }
        case .unprovenToken(let bytes, _)?:
            if bytes == UnprovenTokens.allAttachments { changes = .all }
            if let id = AttachmentID(bytes: bytes) { change([id]) }
        default: break
        }
        // Documents of these are not known.
        change(common)
    }

    private mutating func change(_ ids: Set<AttachmentID>) {
        if case .some(let known) = changes { changes = .some(known.union(ids)) }
    }

    /// Returns the changes since the last call.
    package mutating func takeChanges() -> Changes {
        defer { changes = .some([]) }
        return changes
    }
}
