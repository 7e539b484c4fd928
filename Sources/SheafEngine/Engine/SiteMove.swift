import SheafBytes
package import SheafDocument
package import SheafStorage
import Synchronization

/// The assignment of one site's writes to another site, spread over several commits.
struct SiteMove {
    package let site: Site
    let time: HybridTime
    let target: Site
    /// Keys of the remaining documents, in descending order; nil until they are looked up.
    fileprivate var keys: [[UInt8]]?
    fileprivate(set) var unmoved: [UnmovedDocument] = []

    var isDone: Bool { keys?.isEmpty ?? false }

    /// Maximum total length of the documents that one commit moves; a single one may be longer.
    static let maximumCommitLength = 64 << 20
}

/// A document whose writes could not be assigned to another site.
package struct UnmovedDocument: Sendable {
    /// The address of the document; nil if its key belongs to no collection.
    package let address: DocumentAddress?
    package let reason: EngineError

    package init(address: DocumentAddress?, reason: EngineError) {
        (self.address, self.reason) = (address, reason)
    }
}

/// The result of moving the writes of a store to another site.
package struct Separation: Sendable {
    /// The last commit that moved writes.
    package var commit: CommitID
    package var unmoved: [UnmovedDocument] = []
}

extension DocumentEngine {
    /// Switches to another site and assigns to it the writes after `time`, or since opening.
    ///
    /// Peers know other writes with the same stamps. After the move both are merged, and neither
    /// covers the other. The last commit records the new site. If the store stops or fails before
    /// it, the old site and its pauses apply: no peer loses a write, and the next peer that knows
    /// such a write causes another attempt.
    ///
    /// The caller must be the only writer. Returns nil if the site of the store is not `expected`.
    package func separate(
        from expected: Site? = nil, after time: HybridTime? = nil,
        append: (WriteBatch) throws(StorageError) -> CommitID
    ) throws(EngineError) -> Separation? {
        let before = state.withLock { ($0.clock.site, $0.isSiteWritten, $0.ownWrites, $0.siteMove) }
        let site = before.0
        guard expected ?? site == site else { return nil }
        var move = SiteMove(
            site: site, time: time ?? before.2.opened, target: Self.randomSite(store.options.random)
        )
        var separation = Separation(commit: 0)
        repeat {
            do throws(EngineError) {
                (separation.commit, _) = try write(from: nil, append: append) { transaction in
                    transaction.moveWrites(&move)
                    if move.isDone { transaction.nextSite = move.target }
                }
            } catch {
                state.withLock { state in
                    guard state.clock.site == move.target else { return }
                    switchSite(to: site, &state)
                    (_, state.isSiteWritten, state.ownWrites, state.siteMove) = before
                }
                throw error
            }
        } while !move.isDone
        separation.unmoved = move.unmoved
        return separation
    }

    /// Switches to the site to which transactions have moved the writes of the current one.
    func beginSiteMove(to site: Site, _ state: inout WriterState) {
        // If two moves to another site are not durable, peers know the site before the first one.
        if state.siteMove?.precedes(store.snapshot().commit) != true {
            state.siteMove = SiteMoveRecord(
                site: state.clock.site, pauses: state.ownWrites.endedPauses)
        }
        state.siteMove?.commit = nil
        switchSite(to: site, &state)
    }
}

extension DocumentTransaction {
    /// Assigns the writes of one site to another, in as many documents as fit in one commit.
    fileprivate mutating func moveWrites(_ move: inout SiteMove) {
        var keys = move.keys ?? keysOfDocuments(to: &move)
        var length = 0
        // Each changed state stays in memory until the commit.
        let limit = min(SiteMove.maximumCommitLength, maximumChangedLength / 16)
        while length < limit, let key = keys.popLast() {
            do throws(EngineError) {
                length += try moveWrites(ofDocument: key, move)
            } catch {
                move.unmoved.append(UnmovedDocument(address: address(of: key), reason: error))
            }
        }
        move.keys = keys
    }

    /// Returns the address of a document, even if its collection is not durable yet.
    private func address(of key: [UInt8]) -> DocumentAddress? {
        DocumentSnapshot(snapshot, catalog).address(of: key)
    }

    /// Returns the keys of documents with writes to move, or not yet durable, in descending order.
    private func keysOfDocuments(to move: inout SiteMove) -> [[UInt8]] {
        let documents = DocumentSnapshot(snapshot, catalog)
        var unmoved: [UnmovedDocument] = []
        var keys = Set(pending.keys(startingWith: StoreKey.documents.lower))
        snapshot.tree.forEach(in: StoreKey.documents) { (key, _) in
            let key = Array(key)
            guard !keys.contains(key) else { return true }
            do throws(EngineError) {
                guard let document = try documents.document(key), !document.isRemnant else {
                    return true
                }
                let written = try onDocument(key) { () throws(Malformed) in
                    try document.read { bytes throws(Malformed) in
                        try EncodedDocument(bytes).header().time(of: move.site)
                    }
                }
                if written > move.time { keys.insert(key) }
            } catch {
                unmoved.append(UnmovedDocument(address: documents.address(of: key), reason: error))
            }
            return true
        }
        move.unmoved += unmoved
        return keys.sorted { $1.lexicographicallyPrecedes($0) }
    }

    /// Moves the writes of one document; returns its length, or 0 if there were none.
    private mutating func moveWrites(
        ofDocument key: [UInt8], _ move: SiteMove
    ) throws(EngineError) -> Int {
        let position = try open(DocumentKey(key))
        let names = catalog.names
        let length = try replace(at: position) { (document) throws(Malformed) in
            try document.movingWrites(of: move.site, after: move.time, to: move.target, names)
        }
        if length > 0 { updatePending(position) }
        return length
    }

    /// Replaces the state of a document without a join; returns its length, or 0 if unchanged.
    mutating func replace(
        at position: Int, _ change: (EncodedDocument) throws(Malformed) -> [UInt8]?
    ) throws(EngineError) -> Int {
        guard let state = working[position].state else { return 0 }
        let changed = try onDocument(working[position].key.bytes) { () throws(Malformed) in
            try state.span.withUnsafeBytes { (bytes) throws(Malformed) in
                try change(EncodedDocument(bytes))
            }
        }
        guard let changed else { return 0 }
        var document = working[position]
        // The old state is removed first, because a join would keep both.
        _ = document.purge()
        try document.apply(ChangedBytes(bytes: changed, spellsNames: true), catalog.names)
        working[position] = document
        return changed.count
    }
}
