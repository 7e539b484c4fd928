import SheafBytes
package import SheafDocument
package import SheafEngine
package import SheafHubLog
package import SheafStatements
package import SheafStorage
import SheafSync
package import SheafSystem

/// A shard whose documents were loaded from a snapshot, for a feed that continues from there.
package struct LoadedShard: Sendable {
    /// The position of the snapshot.
    package let position: ShardPosition
    /// The commit of the store before the load; documents that later ones write are not in
    /// `missing`.
    package let commit: CommitID
    /// The time of the snapshot.
    package let wallMilliseconds: UInt64
    /// Documents that the snapshot lacks, or of which the store has other writes.
    package let missing: [DocumentAddress]
    /// The payload of key `0b` until the missing documents are stored in the log.
    package let kept: StoredShard
}

/// A writer to a store, as one of several.
package protocol SnapshotStore {
    /// Blocks until `body` is the only writer, and then until what it appended is durable.
    func write(
        _ body: (
            _ append: (WriteBatch) throws(StorageError) -> CommitID
        ) throws(EngineError) -> Void
    ) throws(EngineError)
}

/// A loader that joins a snapshot of a shard with the documents of a store.
///
/// An interrupted load is repeated from the beginning: key `0b` has no newer position before the
/// last commit.
package struct SnapshotLoader {
    /// The treatment of documents that the snapshot lacks.
    package enum Lacking: Equatable, Sendable {
        /// They are appended to the log.
        case append
        /// Those that a commit after this one has written are appended, unless it received them
        /// from the log; the others were deleted, and are evicted.
        case evict(unlessWrittenAfter: CommitID)
    }

    private let manifest: SnapshotManifest
    private let queries: QueryEngine
    private let store: any SnapshotStore
    private let nonce: UInt64
    private let lacking: Lacking
    private let kept: StoredShard
    private let commitLength: Int
    private let stop: EvaluationStop?
    private let before: DocumentSnapshot
    /// The collections that are not shared with servers are not in the log.
    private let scopes: SyncScopes
    private let map: ShardMap
    private var reader: SnapshotReader
    private var names = ReceivedNames()
    private var documents = SpillBuffer()
    private var missing: Set<DocumentAddress> = []

    /// Prepares to load a snapshot.
    ///
    /// - Parameter known: The payload of key `0b` in the store; nil if there is none.
    /// - Parameter nonce: The number of the opening of the author that follows.
    /// - Parameter commitLength: Length of the documents in a commit.
    package init(
        _ manifest: SnapshotManifest, _ map: ShardMap, from objects: any HubObjects,
        into store: any SnapshotStore, _ queries: QueryEngine, known: StoredShard?, nonce: UInt64,
        lacking: Lacking, commitLength: Int = 16 << 20, until stop: EvaluationStop? = nil
    ) {
        self.manifest = manifest
        self.store = store
        self.queries = queries
        self.nonce = nonce
        self.lacking = lacking
        self.commitLength = commitLength
        self.stop = stop
        // Time 0 is older than any lifetime, so an interrupted load counts as that of an old store.
        kept =
            known
            ?? StoredShard(log: manifest.log, position: .start, commit: 0, wallMilliseconds: 0)
        reader = SnapshotReader(manifest, map, from: objects)
        before = queries.documents.snapshot()
        scopes = queries.parameters.values.syncScopes
        self.map = map
    }

    /// Blocks until the store has the documents of the snapshot.
    ///
    /// `onPart` gets the number of documents of each part.
    package mutating func load(
        _ onPart: (Int) -> Void = { _ in }
    ) throws(SnapshotFailure) -> LoadedShard {
        for pauses in manifest.pauses { _ = queries.documents.addPauses(pauses) }
        var lackingDocuments = LackingDocuments(
            before, shard: manifest.shard, in: map, scopes)
        while let part = try reader.next() {
            if stop?.isSet == true { throw .stopped }
            for document in part.documents {
                lackingDocuments.pass(document.collection, id: document.id)
            }
            try onSnapshotStore { () throws(EngineError) in
                try names.translate(
                    part.documents, from: part.names, queries.documents, numbersNames: true,
                    into: &documents)
            }
            if documents.lengthInMemory >= commitLength { try write(kept) }
            onPart(part.documents.count)
        }
        if !documents.isEmpty { try write(kept) }
        lackingDocuments.finish()
        try decide(on: lackingDocuments.keys)
        if missing.isEmpty {
            _ = try Self.record(loaded, of: manifest.shard, in: store, queries)
        }
        return LoadedShard(
            position: manifest.position, commit: before.log.commit, wallMilliseconds: time,
            missing: missing.sorted(), kept: kept)
    }

    /// The time at which the store has all that was in the log, now that it has the snapshot.
    private var time: UInt64 {
        max(1, min(manifest.wallMilliseconds, queries.options.clock.wallMilliseconds()))
    }

    /// The payload of key `0b` once nothing is missing in the log.
    private var loaded: StoredShard {
        StoredShard(
            log: manifest.log, position: manifest.position, commit: before.log.commit,
            wallMilliseconds: time)
    }

    /// Writes the documents read so far, in one commit that counts as received from the log.
    private mutating func write(_ stored: StoredShard) throws(SnapshotFailure) {
        var step = PreparedStep(
            generation: 0, documents: documents, commit: max(1, manifest.position.entry),
            stamp: nil, senderKey: nil, connection: nonce, pauses: [], isCut: false, length: 0)
        step.storedShard = (manifest.shard, stored)
        let (queries, manifest, stop) = (queries, manifest, stop)
        var received: DocumentEngine.Reception?
        try onSnapshotStore { () throws(EngineError) in
            try store.write { (append) throws(EngineError) in
                received = try queries.documents.receive(
                    step, from: manifest.author.site, [], nil, until: stop, append: append
                ).1
            }
        }
        documents = SpillBuffer()
        guard let received else { return }
        if let document = received.ahead.documents.first { throw .clock(document.address) }
        missing.formUnion(
            received.outdated.map(\.address).filter {
                scopes.allows($0.collection, toServer: true)
            })
    }

    /// Blocks until key `0b` of a store is written that has all documents of a shard already.
    package static func record(
        _ stored: StoredShard, of shard: UInt16, in store: any SnapshotStore,
        _ queries: QueryEngine
    ) throws(SnapshotFailure) -> LoadedShard {
        try onSnapshotStore { () throws(EngineError) in
            try store.write { (append) throws(EngineError) in
                _ = try queries.documents.write(from: nil, append: append) {
                    $0.storedShards = [(shard, stored)]
                    $0.savesShards = true
                }
            }
        }
        return LoadedShard(
            position: stored.position, commit: stored.commit,
            wallMilliseconds: stored.wallMilliseconds, missing: [], kept: stored)
    }

    // MARK: Documents that the snapshot lacks

    private mutating func decide(on keys: [[UInt8]]) throws(SnapshotFailure) {
        guard !keys.isEmpty else { return }
        let before = before
        let lacking = lacking
        var evicted: [(key: [UInt8], document: StoredDocument)] = []
        var appended: [DocumentAddress] = []
        try onSnapshotStore { () throws(EngineError) in
            var unstored: UnstoredDocuments?
            if case .evict(let commit) = lacking {
                unstored = try UnstoredDocuments(before, after: commit)
            }
            for key in keys {
                guard let document = try before.document(key), !document.isRemnant,
                    let address = before.address(of: key)
                else { continue }
                if try unstored?.contains(key) ?? true {
                    appended.append(address)
                } else if !document.isTombstone {
                    evicted.append((key, document))
                }
            }
        }
        missing.formUnion(appended)
        try evict(evicted)
    }

    /// Evicts documents, except those that were written since the load began.
    private func evict(
        _ documents: [(key: [UInt8], document: StoredDocument)]
    ) throws(SnapshotFailure) {
        let (queries, nonce, before) = (queries, nonce, before)
        var rest = documents[...]
        while !rest.isEmpty {
            if stop?.isSet == true { throw .stopped }
            let batch = rest.prefix(Self.evictedInCommit)
            rest = rest.dropFirst(Self.evictedInCommit)
            try onSnapshotStore { () throws(EngineError) in
                try store.write { (append) throws(EngineError) in
                    _ = try queries.documents.write(from: nil, append: append) {
                        (transaction) throws(EngineError) in
                        transaction.connection = nonce
                        for (key, document) in batch {
                            try transaction.evict(key, document, before)
                        }
                    }
                }
            }
        }
    }

    private static let evictedInCommit = 4_096
}

extension DocumentTransaction {
    /// Evicts a document, unless it has changed since a snapshot.
    fileprivate mutating func evict(
        _ key: [UInt8], _ document: StoredDocument, _ snapshot: DocumentSnapshot
    ) throws(EngineError) {
        let position = try open(DocumentKey(key))
        guard working[position].state == document.bytes, let address = snapshot.address(of: key)
        else { return }
        let id = try onDocument(key) { () throws(Malformed) in
            try address.id.span.withUnsafeBytes { (bytes) throws(Malformed) in
                try DocumentID.id(of: bytes)
            }
        }
        _ = try apply(DocumentChange(address.collection, id, .evict))
    }
}

/// The documents of a store that commits after one have written, other than received from a log.
package struct UnstoredDocuments {
    private let snapshot: DocumentSnapshot
    private let commit: CommitID
    /// The commits after `commit` that have documents from the log.
    private let received: Set<CommitID>

    package init(_ snapshot: DocumentSnapshot, after commit: CommitID) throws(EngineError) {
        self.snapshot = snapshot
        self.commit = commit
        // Of compacted commits it is not known whether they were received: nothing is evicted that
        // they have written.
        received =
            commit >= snapshot.log.compactedThrough
            ? try snapshot.receivedCommits(after: commit) : []
    }

    package func contains(_ key: [UInt8]) throws(EngineError) -> Bool {
        guard let last = try snapshot.newestCommit(of: key), last > commit else { return false }
        guard received.contains(last) else { return true }
        guard let others = try snapshot.commits(of: key, since: commit, most: 64) else {
            return true
        }
        return !others.allSatisfy(received.contains)
    }
}
