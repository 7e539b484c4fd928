import SheafAttachments
public import SheafDocument
import SheafEngine
import SheafStatements
import SheafStorage
import SheafSystem
import Synchronization

/// The schedule of attachment collection, and the references found by its last scan.
package final class AttachmentCollectionClock: Sendable {
    private struct Scan: Sendable {
        let commit: CommitID
        let wanted: Set<AttachmentID>
        let named: Set<AttachmentID>
    }

    private let next = Atomic<UInt64>(0)
    private let last = Mutex<Scan?>(nil)

    package init() {}

    /// Whether collection is due; if so, postpones the next one by half the grace period.
    package func isDue(at milliseconds: UInt64, grace: UInt64) -> Bool {
        let due = next.load(ordering: .relaxed)
        // If the clock was set back, the stored time of the next collection means nothing.
        guard milliseconds >= due || due - milliseconds > grace else { return false }
        return next.compareExchange(
            expected: due, desired: milliseconds + max(grace / 2, 1), ordering: .relaxed
        ).exchanged
    }

    /// Returns the files of `wanted` that documents reference, cached until the next commit.
    func referencedAttachments(
        among wanted: Set<AttachmentID>, in snapshot: DocumentSnapshot
    ) throws(EngineError) -> Set<AttachmentID> {
        let commit = snapshot.log.commit
        if let scan = last.withLock({ $0 }), scan.commit == commit,
            wanted.isSubset(of: scan.wanted)
        {
            return scan.named.intersection(wanted)
        }
        let named = try snapshot.referencedAttachments(among: wanted)
        last.withLock { $0 = Scan(commit: commit, wanted: wanted, named: named) }
        return named
    }
}

extension Store {
    /// Adds a file as an attachment, whose token can be stored in a document.
    ///
    ///     let photo = try await store.newAttachment(
    ///         path: "car.jpeg", metadata: ["type": "image/jpeg"])
    ///     try await store.execute(
    ///         "UPDATE COLLECTION cars (photo ATTACHMENT) SET photo = :photo WHERE _id = 'a'",
    ///         ["photo": photo.token.value])
    ///
    /// The file is copied in chunks and durable on return; identical files are stored once. An
    /// attachment that no document references within `attachment_grace_seconds` is removed. The
    /// cancellation of the task ends the copying, and nothing is added.
    public nonisolated(nonsending) func newAttachment(
        path: String, metadata: [String: String] = [:]
    ) async throws -> StoredAttachment {
        try await add(metadata) { (attachments, stop) throws(AttachmentError) in
            let path = SplitPath(path)
            return try attachments.add(path.name, in: try path.volume(), until: stop)
        }
    }

    /// Adds bytes as an attachment, whose token can be stored in a document.
    public nonisolated(nonsending) func newAttachment(
        data: [UInt8], metadata: [String: String] = [:]
    ) async throws -> StoredAttachment {
        try await add(metadata) { (attachments, stop) throws(AttachmentError) in
            (try attachments.add(data, until: stop), data.count)
        }
    }

    private nonisolated(nonsending) func add(
        _ metadata: [String: String],
        _ body:
            @escaping @Sendable (AttachmentStore, EvaluationStop) throws(AttachmentError) -> (
                id: AttachmentID, length: Int
            )
    ) async throws -> StoredAttachment {
        let metadataLength = AttachmentToken.length(of: metadata)
        guard metadataLength <= AttachmentToken.maximumMetadataLength else {
            throw StoreError(
                .limit,
                "the metadata has \(metadataLength) bytes, and maximumMetadataLength is "
                    + "\(AttachmentToken.maximumMetadataLength)",
                hint: "store longer metadata in the document")
        }
        let attachments = attachments
        let (id, length) = try await Self.runOnThread(cancellably: "sheaf-attach") {
            (stop) throws(StoreError) in
            try onAttachments { () throws(AttachmentError) in try body(attachments, stop) }
        }
        return StoredAttachment(
            AttachmentToken(id: id, length: length, metadata: metadata), in: attachments)
    }

    /// Returns the attachment of a token; nil if it is not stored here and must be fetched.
    public nonisolated(nonsending) func attachment(
        _ token: AttachmentToken
    ) async throws -> StoredAttachment? {
        let attachments = attachments
        let isStored = try await Self.runOnThread("sheaf-attach") { () throws(StoreError) in
            try onAttachments { () throws(AttachmentError) in
                guard let file = try attachments.file(token.id) else { return false }
                defer { file.close() }
                try attachments.clearMark(of: token.id)
                return file.length == token.length
            }
        }
        return isStored ? StoredAttachment(token, in: attachments) : nil
    }

    /// Removes attachments unreferenced for `attachment_grace_seconds`; returns their number.
    ///
    /// It also runs automatically after writes. A file is removed when two scans that far apart
    /// both found no reference to it, so a file first seen by this call is not removed.
    @discardableResult
    public nonisolated(nonsending) func collectAttachments() async throws -> Int {
        guard !isReadOnly else { throw StoreError(StorageError.readOnly) }
        let (attachments, queries, collecting) = (attachments, queries, attachmentCollection)
        return try await Self.runOnThread("sheaf-collect") { () throws(StoreError) in
            try Self.collect(attachments, queries, collecting)
        }
    }

    /// Collects attachments in the background, if due.
    func collectAttachmentsIfDue() {
        guard attachments.holdsFiles else { return }
        let grace = queries.parameters.values.attachmentGraceMilliseconds
        guard attachmentCollection.isDue(at: queries.options.clock.wallMilliseconds(), grace: grace)
        else {
            return
        }
        // The store is not captured: a running collection must not keep a released store alive.
        let (attachments, queries, collecting) = (attachments, queries, attachmentCollection)
        Task {
            do {
                try await Self.runOnThread("sheaf-collect") { () throws(StoreError) in
                    _ = try Self.collect(attachments, queries, collecting)
                }
            } catch let error as StoreError where error.reason == .closed {
                // Collection continues after the next opening.
            } catch {
                queries.log?.write(.warning, "attachment collection failed: \(error)")
            }
        }
    }

    private static func collect(
        _ attachments: AttachmentStore, _ queries: QueryEngine,
        _ collecting: AttachmentCollectionClock
    ) throws(StoreError) -> Int {
        let grace = queries.parameters.values.attachmentGraceMilliseconds
        let result: AttachmentStore.CollectionReport
        do {
            result = try attachments.collect(graceMilliseconds: grace) { wanted in
                try collecting.referencedAttachments(among: wanted, in: queries.snapshot())
            }
        } catch let error as AttachmentError {
            throw StoreError(error)
        } catch let error as EngineError {
            throw StoreError(error)
        } catch {
            throw StoreError(.failed, "\(error)")
        }
        if result.removed > 0 {
            queries.log?.write(
                .info, "removed unreferenced attachments",
                ["count": "\(result.removed)"])
        }
        return result.removed
    }

    /// Loads the list of attachments; if that fails, each use of attachments throws.
    func loadAttachments() {
        do throws(AttachmentError) { try attachments.load() } catch {
            queries.log?.write(.error, "attachments cannot be read", ["reason": "\(error)"])
        }
    }

    /// Installs a handler that marks attachments as used when a commit is about to reference them.
    func installReferenceHandler() {
        guard !isReadOnly else { return }
        let attachments = attachments
        queries.documents.referenceHandler.withLock { handler in
            handler = { named in
                for id in named { attachments.touch(id) }
            }
        }
    }
}
