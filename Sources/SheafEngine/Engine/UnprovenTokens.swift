package import SheafBytes
package import SheafDocument
package import SheafStorage

/// The attachment tokens without proof of possession, as a transaction changes them.
///
/// A peer with limited rights can write the id of any attachment into a document that it may read.
/// Such a token is visible like any other. It gives no peer with limited rights access to the
/// attachment until the peer that sent it has proved that it possesses the attachment
/// (`format-spec/commits.md`, table 5).
package struct UnprovenTokens: Sendable {
    private struct Entry: Sendable {
        /// The payload of the entry; nil if the entry was removed.
        let payload: [UInt8]?
        let commit: CommitID
    }

    /// The id that represents all attachments that a document references.
    package static let allAttachments = [UInt8](repeating: 0, count: SHA256.length)

    /// Whether the store has an entry, or had one since it was opened.
    package private(set) var mayHaveEntries: Bool
    /// Entries of commits that the snapshot of a writer may lack.
    private var pending: [[UInt8]: Entry] = [:]
    /// Payloads of the entries that the transaction changes; nil for removed entries.
    package private(set) var changes: [[UInt8]: [UInt8]?] = [:]
    /// The key of the peer with limited rights that sent the documents of the transaction.
    package var senderKey: [UInt8]?

    package init(mayHaveEntries: Bool = false) {
        self.mayHaveEntries = mayHaveEntries
    }

    /// Returns the tokens for the next transaction; drops entries that `snapshot` has.
    package mutating func beginTransaction(after snapshot: CommitID) -> UnprovenTokens {
        if !pending.isEmpty { pending = pending.filter { $0.value.commit > snapshot } }
        return self
    }

    /// Records the changes of a transaction that has become a commit.
    package mutating func markWritten(_ transaction: UnprovenTokens, by commit: CommitID) {
        for (key, payload) in transaction.changes {
            pending[key] = Entry(payload: payload, commit: commit)
            if payload != nil { mayHaveEntries = true }
        }
    }

    /// Returns the payload of an entry before the transaction; nil if there is none.
    ///
    /// A transaction writes an entry at most once, after it has removed others.
    package func payload(
        of key: [UInt8], in snapshot: LogSnapshot
    ) throws(EngineError) -> [UInt8]? {
        if let entry = pending[key] { return entry.payload }
        return try onStorage { () throws(StorageError) in
            try key.span.withUnsafeBytes { key throws(StorageError) in
                try snapshot.payload(of: key).map { Array($0) }
            }
        }
    }

    package mutating func put(_ key: [UInt8], _ payload: [UInt8]) {
        changes[key] = .some(payload)
    }

    /// Removes an entry if it exists.
    package mutating func remove(_ key: [UInt8], in snapshot: LogSnapshot) throws(EngineError) {
        guard try payload(of: key, in: snapshot) != nil else { return }
        changes[key] = .some(nil)
    }

    /// Writes the changes to a batch, in the order of their keys.
    package func write(into batch: inout WriteBatch) throws(EngineError) {
        guard !changes.isEmpty else { return }
        for (key, payload) in changes.sorted(by: { $0.key.lexicographicallyPrecedes($1.key) }) {
            try onStorage { () throws(StorageError) in
                if let payload { try batch.put(key, payload) } else { try batch.remove(key) }
            }
        }
    }

    /// Length of the key of a peer.
    private static let senderKeyLength = 32

    /// Checks the payload of an entry, which is the key of a peer or empty.
    package static func check(_ payload: UnsafeRawBufferPointer) throws(Malformed) {
        guard payload.isEmpty || payload.count == senderKeyLength else {
            throw .invalid("an unproven token of \(payload.count) bytes", at: 0)
        }
    }

    /// Returns the key of the entry for an attachment, or for `allAttachments`, in a document.
    package static func key(_ attachment: [UInt8], inDocument hash: [UInt8]) -> [UInt8] {
        StoreKey.unprovenToken(attachment: attachment, document: hash).bytes
    }

    package static func hash(ofDocument key: [UInt8]) -> [UInt8] {
        key.span.withUnsafeBytes { SHA256.hash($0) }
    }
}

/// The origin of the tokens that a change writes into a document.
struct TokenChange: Sendable {
    /// The peer with limited rights that sent the change; its tokens are unproven.
    package var senderKey: [UInt8]?
    /// Attachments whose tokens were written locally, or sent as proven by a trusted peer.
    package var proven: Set<AttachmentID> = []
    /// Attachments whose tokens a trusted peer marked as unproven.
    package var unproven: Set<AttachmentID> = []
    var areAllUnproven = false
}

extension DocumentTransaction {
    /// Records the attachments that a local write references; its tokens are proven.
    mutating func recordLocalTokens(_ bytes: [UInt8], at position: Int) throws(EngineError) {
        let count = tokens.count
        bytes.span.withUnsafeBytes { recordAttachmentIDs($0) }
        guard tokens.count > count else { return }
        let named = try onDocument(working[position].key.bytes) { () throws(Malformed) in
            try bytes.span.withUnsafeBytes { bytes throws(Malformed) in
                try EncodedDocument(bytes).attachments(catalog.names)
            }
        }
        guard !named.isEmpty else { return }
        working[position].updateTokens { $0.proven.formUnion(named) }
    }

    /// Records texts that may be attachment ids, so that the attachments are kept.
    package mutating func recordAttachmentIDs(_ bytes: UnsafeRawBufferPointer) {
        AttachmentTexts.forEach(in: bytes) { text in
            if let id = AttachmentID(String(decoding: text, as: UTF8.self)) { tokens.append(id) }
            return true
        }
    }

    /// Records which tokens of a received document are unproven, as listed by its sender.
    package mutating func recordTokenSource(
        of document: BufferedDocument, at position: Int
    ) throws(EngineError) {
        if let sender = unproven.senderKey {
            return working[position].updateTokens { $0.senderKey = sender }
        }
        guard document.marks.contains(.hasTokens),
            unproven.mayHaveEntries || !document.unproven.isEmpty
        else { return }
        let key = working[position].key
        let named = try onDocument(key.bytes) { () throws(Malformed) in
            try EncodedDocument(document.bytes).attachments(catalog.names)
        }
        let isEvery = document.unproven.contains(UnprovenTokens.allAttachments)
        let listed = isEvery ? named : Set(document.unproven.compactMap { AttachmentID(bytes: $0) })
        let proven = named.subtracting(listed)
        guard working[position].isChanged else {
            // The document has no new writes, but its tokens may have been unproven here.
            return try removeUnproven(
                proven, inDocument: UnprovenTokens.hash(ofDocument: key.bytes))
        }
        working[position].updateTokens { change in
            change.proven = proven
            change.unproven = listed.intersection(named)
            change.areAllUnproven = isEvery
        }
    }

    private mutating func removeUnproven(
        _ ids: Set<AttachmentID>, inDocument hash: [UInt8]
    ) throws(EngineError) {
        for id in ids {
            try unproven.remove(UnprovenTokens.key(id.bytes, inDocument: hash), in: snapshot)
        }
    }

    /// Updates the entries for the tokens of a changed document.
    mutating func updateUnproven(
        at position: Int, _ written: StoredDocument?
    ) throws(EngineError) {
        let change = working[position].tokens
        guard
            unproven.mayHaveEntries || change?.senderKey != nil || change?.unproven.isEmpty == false
        else {
            return
        }
        let key = working[position].key.bytes
        let before = try attachments(referencedBy: working[position].original, key)
        let after = try attachments(referencedBy: written, key)
        guard !before.isEmpty || !after.isEmpty else { return }
        let hash = UnprovenTokens.hash(ofDocument: key)
        try removeUnproven(before.subtracting(after), inDocument: hash)
        try removeUnproven(
            (change?.proven ?? []).intersection(after).intersection(before), inDocument: hash)
        let every = UnprovenTokens.key(UnprovenTokens.allAttachments, inDocument: hash)
        if after.isEmpty { try unproven.remove(every, in: snapshot) }
        guard let change else { return }
        let added = after.subtracting(before)
        let doubted = change.senderKey == nil ? added.intersection(change.unproven) : added
        guard !doubted.isEmpty else { return }
        let payload = change.senderKey ?? []
        guard doubted.count <= AttachmentToken.maximumUnproven, !change.areAllUnproven else {
            return unproven.put(every, payload)
        }
        for id in doubted { unproven.put(UnprovenTokens.key(id.bytes, inDocument: hash), payload) }
    }

    private func attachments(
        referencedBy document: StoredDocument?, _ key: [UInt8]
    ) throws(EngineError) -> Set<AttachmentID> {
        try onDocument(key) { () throws(Malformed) in
            try document?.read { bytes throws(Malformed) in
                try EncodedDocument(bytes).attachments(catalog.names)
            } ?? []
        }
    }
}

extension EncodedDocument {
    /// Returns the attachments that the tokens of the document reference, including hidden tokens.
    package func attachments(_ names: NameTable) throws(Malformed) -> Set<AttachmentID> {
        guard try hasTokens() else { return [] }
        var found: Set<AttachmentID> = []
        try forEachToken(names) { token in
            if let id = AttachmentToken.id(of: token) { found.insert(id) }
        }
        return found
    }
}
