import SheafBytes
package import SheafDocument
package import SheafStorage
import SheafSync
import Synchronization

/// The assignment of writes of one site to another one, in one commit after the other.
struct SiteMove {
    let site: Site
    let time: HybridTime
    let other: Site
    /// Keys of the documents that are left, in descending order; nil before they are looked up.
    fileprivate var keys: [[UInt8]]?
    fileprivate(set) var unmoved: [UnmovedDocument] = []

    var isDone: Bool { keys?.isEmpty ?? false }

    /// Maximum length of the documents that one commit moves, unless it is a single one.
    static let commitLength = 64 << 20
}

/// A document whose writes could not be assigned to another site.
package struct UnmovedDocument: Sendable {
    /// Nil where the key belongs to no collection.
    let address: DocumentAddress?
    package let reason: EngineError
}

/// What became of drawing another site.
package struct Separation: Sendable {
    /// The last commit that moved writes.
    package var commit: CommitID
    package var unmoved: [UnmovedDocument] = []
}

extension DocumentEngine {
    /// Goes on as another site, and gives it what was written since the opening: peers know other writes of the
    /// same times.
    ///
    /// What they know is then merged with what was written here, and covered by nothing. The last commit has the new
    /// site: where the store stops before it, or cannot write it, the old site and its pauses apply, with which no
    /// peer loses a write, and the next peer that knows one has it tried again.
    ///
    /// Only the caller may write meanwhile. Returns nil where the store has another site than `expected` by now.
    package func separate(
        from expected: Site? = nil, after time: HybridTime? = nil,
        append: (WriteBatch) throws(StorageError) -> CommitID
    ) throws(EngineError) -> Separation? {
        let before = state.withLock { ($0.clock.site, $0.isSiteWritten, $0.ownWrites, $0.handover) }
        let site = before.0
        guard expected ?? site == site else { return nil }
        var move = SiteMove(
            site: site, time: time ?? before.2.opened, other: Self.drawSite(store.options.random))
        var separation = Separation(commit: 0)
        repeat {
            do throws(WriteError) {
                (separation.commit, _) = try write(from: nil, append: append) { transaction in
                    transaction.moveWrites(&move)
                    if move.isDone { transaction.nextSite = move.other }
                }
            } catch {
                state.withLock { state in
                    guard state.clock.site == move.other else { return }
                    draw(site, &state)
                    (_, state.isSiteWritten, state.ownWrites, state.handover) = before
                }
                switch error {
                case .engine(let error): throw error
                case .query: preconditionFailure("To go on as another site asks no questions.")
                }
            }
        } while !move.isDone
        separation.unmoved = move.unmoved
        return separation
    }

    /// Writes as another site from now on, to which all writes of the old one are moved with the next commit.
    func beginHandover(to site: Site, _ state: inout WriterState) {
        // If two handovers are not durable, peers know the site before the first one.
        if state.handover?.precedes(store.snapshot().commit) != true {
            state.handover = SiteHandover(
                site: state.clock.site, pauses: state.ownWrites.endedPauses)
        }
        state.handover?.commit = nil
        draw(site, &state)
    }
}

extension DocumentTransaction {
    /// Gives what a site has written after a time to another one, in as many documents as one commit should have.
    fileprivate mutating func moveWrites(_ move: inout SiteMove) {
        var keys = move.keys ?? keysOfDocuments(to: &move)
        var length = 0
        // Each state is kept until the commit is made.
        let limit = min(SiteMove.commitLength, maximumChangedLength / 16)
        while length < limit, let key = keys.popLast() {
            do throws(EngineError) {
                length += try moveWrites(ofDocument: key, move)
            } catch {
                move.unmoved.append(UnmovedDocument(address: address(of: key), reason: error))
            }
        }
        move.keys = keys
    }

    /// The address of a document, also where its collection is not durable yet.
    private func address(of key: [UInt8]) -> DocumentAddress? {
        DocumentSnapshot(snapshot, directory).address(of: key)
    }

    /// Returns the keys of the documents that have writes to move, or are not durable yet, in descending order.
    private func keysOfDocuments(to move: inout SiteMove) -> [[UInt8]] {
        let documents = DocumentSnapshot(snapshot, directory)
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

    /// Returns the length of the document; 0 if there was nothing to be moved.
    private mutating func moveWrites(
        ofDocument key: [UInt8], _ move: SiteMove
    ) throws(EngineError) -> Int {
        let position = try open(DocumentKey(key))
        let names = directory.names
        let length = try replace(at: position) { (document) throws(Malformed) in
            try document.movingWrites(of: move.site, after: move.time, to: move.other, names)
        }
        if length > 0 { notePending(position) }
        return length
    }

    /// Puts another state in the place of a document, without a join; returns its length, or 0 if there is none.
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
        // In the place of the old state: joined with it, both would stay.
        _ = document.forget()
        try document.take(ChangedBytes(bytes: changed, spellsNames: true), directory.names)
        working[position] = document
        return changed.count
    }
}
