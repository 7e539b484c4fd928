import SheafDocument
import SheafStorage
import Synchronization

/// When attachments are looked through that no document names, and what was found last.
final class CollectingClock: Sendable {
    private struct Look: Sendable {
        let commit: CommitID
        let wanted: Set<AttachmentID>
        let named: Set<AttachmentID>
    }

    private let next = Atomic<UInt64>(0)
    private let last = Mutex<Look?>(nil)

    /// Whether it is time; if so, it will be again after half of the time that files stay.
    func isDue(at milliseconds: UInt64, grace: UInt64) -> Bool {
        let due = next.load(ordering: .relaxed)
        // A clock that was set back says nothing about when the last look was.
        guard milliseconds >= due || due - milliseconds > grace else { return false }
        return next.compareExchange(
            expected: due, desired: milliseconds + max(grace / 2, 1), ordering: .relaxed
        ).exchanged
    }

    /// Which files documents name; where nothing was committed since, that is known.
    func named(
        of wanted: Set<AttachmentID>, in snapshot: DocumentSnapshot
    ) throws(EngineError) -> Set<AttachmentID> {
        let commit = snapshot.log.commit
        if let look = last.withLock({ $0 }), look.commit == commit,
            wanted.isSubset(of: look.wanted)
        {
            return look.named.intersection(wanted)
        }
        let named = try snapshot.named(of: wanted)
        last.withLock { $0 = Look(commit: commit, wanted: wanted, named: named) }
        return named
    }
}

extension Store {
    /// Takes a file as an attachment; its token goes into a document.
    ///
    ///     let photo = try await store.newAttachment(path: "car.jpeg", metadata: ["type": "image/jpeg"])
    ///     try await store.execute(
    ///         "UPDATE COLLECTION cars (photo ATTACHMENT) SET photo = :photo WHERE _id = 'a'",
    ///         ["photo": photo.token.value])
    ///
    /// The file is copied, chunk by chunk, and durable when this returns; the same file twice is there
    /// once. What no document names within `attachment_grace_seconds` goes again.
    public nonisolated(nonsending) func newAttachment(
        path: String, metadata: [String: String] = [:]
    ) async throws -> Attachment {
        try await add(metadata) { (attachments) throws(AttachmentError) in
            let path = SplitPath(path)
            return try attachments.add(path.name, in: try path.volume())
        }
    }

    /// Takes bytes as an attachment; its token goes into a document.
    public nonisolated(nonsending) func newAttachment(
        data: [UInt8], metadata: [String: String] = [:]
    ) async throws -> Attachment {
        try await add(metadata) { (attachments) throws(AttachmentError) in
            (try attachments.add(data), data.count)
        }
    }

    private nonisolated(nonsending) func add(
        _ metadata: [String: String],
        _ body:
            @escaping @Sendable (AttachmentStore) throws(AttachmentError) -> (
                id: AttachmentID, length: Int
            )
    ) async throws -> Attachment {
        let metadataLength = AttachmentToken.length(of: metadata)
        guard metadataLength <= AttachmentToken.maximumMetadataLength else {
            throw StoreError(
                .limit,
                "\(metadataLength) is more than maximumMetadataLength allows, which is "
                    + "\(AttachmentToken.maximumMetadataLength)",
                hint: "what is longer belongs into the document")
        }
        let attachments = attachments
        let (id, length) = try await Self.onThread("sheaf-attach") { () throws(StoreError) in
            try onAttachments { () throws(AttachmentError) in try body(attachments) }
        }
        return Attachment(
            AttachmentToken(id: id, length: length, metadata: metadata), in: attachments)
    }

    /// The attachment that a document names; nil where it is not here, and has to be fetched.
    public nonisolated(nonsending) func attachment(
        _ token: AttachmentToken
    ) async throws -> Attachment? {
        let attachments = attachments
        let isHere = try await Self.onThread("sheaf-attach") { () throws(StoreError) in
            try onAttachments { () throws(AttachmentError) in
                guard let file = try attachments.file(token.id) else { return false }
                defer { file.close() }
                try attachments.want(token.id)
                return file.length == token.length
            }
        }
        return isHere ? Attachment(token, in: attachments) : nil
    }

    // MARK: What no document names

    /// Removes attachments that no document has named for `attachment_grace_seconds`; returns how many
    /// there were.
    ///
    /// It is done by itself beside writes. A file goes when two looks so far apart have both not found it
    /// named: so the first call removes nothing that is new to it.
    @discardableResult
    public nonisolated(nonsending) func collectAttachments() async throws -> Int {
        guard !isReadOnly else { throw StoreError(.readOnly) }
        let (attachments, queries, collecting) = (attachments, queries, collecting)
        return try await Self.onThread("sheaf-collect") { () throws(StoreError) in
            try Self.collect(attachments, queries, collecting)
        }
    }

    /// Looks through the attachments, where that is due, beside the caller.
    func collectIfDue() {
        guard attachments.holdsFiles else { return }
        let grace = queries.parameters.values.attachmentGraceMilliseconds
        guard collecting.isDue(at: queries.options.clock.wallMilliseconds(), grace: grace) else {
            return
        }
        // Not the store: a look must not keep one that is dropped.
        let (attachments, queries, collecting) = (attachments, queries, collecting)
        Task {
            do {
                try await Self.onThread("sheaf-collect") { () throws(StoreError) in
                    _ = try Self.collect(attachments, queries, collecting)
                }
            } catch let error as StoreError where error.reason == .closed {
                // The next opening goes on.
            } catch {
                queries.log?.write(.warning, "attachments were not looked through: \(error)")
            }
        }
    }

    private static func collect(
        _ attachments: AttachmentStore, _ queries: QueryEngine, _ collecting: CollectingClock
    ) throws(StoreError) -> Int {
        let grace = queries.parameters.values.attachmentGraceMilliseconds
        let result: AttachmentStore.Collection
        do {
            result = try attachments.collect(graceMilliseconds: grace) { wanted in
                try collecting.named(of: wanted, in: queries.snapshot())
            }
        } catch let error as AttachmentError {
            throw StoreError(attachments: error)
        } catch let error as EngineError {
            throw StoreError(error)
        } catch {
            throw StoreError(.failed, "\(error)")
        }
        if result.removed > 0 {
            queries.log?.write(
                .info, "attachments that no document names were removed",
                ["count": "\(result.removed)"])
        }
        return result.removed
    }

    /// Reads what there is; where that fails, each use of attachments says so.
    func loadAttachments() {
        do throws(AttachmentError) { try attachments.load() } catch {
            queries.log?.write(.error, "attachments cannot be read", ["reason": "\(error)"])
        }
    }

    /// Lets attachments hear of tokens: what a commit is about to name is wanted.
    func watchTokens() {
        guard !isReadOnly else { return }
        let attachments = attachments
        queries.documents.tokenWatch.withLock { watch in
            watch = { named in
                for id in named { attachments.touch(id) }
            }
        }
    }
}
