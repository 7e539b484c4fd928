import SheafBytes
import SheafDocument
import SheafStorage
import Synchronization

/// When the site of a store has written, as far as its log knows.
///
/// ```
/// log ───── opened ─ ─ nothing ─ ─ first ───── now
/// ```
/// A write of the site in between, which a peer knows, was made by the store before it was put back to an older
/// state.
struct OwnWrites: Sendable {
    /// All writes of the site that the log had at the opening are not later.
    let opened: HybridTime
    /// All writes since are not earlier; none while there are none.
    private(set) var first: HybridTime?

    init(opened: HybridTime) {
        self.opened = opened
    }

    /// For a site that was drawn since the opening.
    static var ofNewSite: OwnWrites {
        var writes = OwnWrites(opened: .initial)
        writes.first = .initial
        return writes
    }

    /// Notes that a commit was made; `time` is that of its first write, or of the last that was seen.
    mutating func noteCommit(_ time: HybridTime) {
        if first == nil { first = time }
    }

    /// Whether the site has not written at a time, which a peer knows.
    func lack(_ time: HybridTime) -> Bool {
        time > opened && first.map { time < $0 } ?? true
    }
}

extension DocumentEngine {
    /// Goes on as another site, and gives it what was written since the opening: peers know other writes of the
    /// same times.
    ///
    /// What they know is then merged with what was written here, and covered by nothing.
    func separate(append: (WriteBatch) throws(StorageError) -> CommitID) throws(WriteError) {
        let (site, opened, other) = state.withLock { state in
            let (site, opened) = (state.clock.site, state.ownWrites.opened)
            drawNewSite(&state)
            return (site, opened, state.clock.site)
        }
        _ = try write(from: nil, append: append) { (transaction) throws(WriteError) in
            do throws(EngineError) {
                try transaction.moveWrites(of: site, after: opened, to: other)
            } catch {
                throw .engine(error)
            }
        }
    }
}

extension DocumentTransaction {
    /// Gives what a site has written after a time to another one, in all documents.
    fileprivate mutating func moveWrites(
        of site: Site, after time: HybridTime, to other: Site
    ) throws(EngineError) {
        let documents = DocumentSnapshot(snapshot, directory)
        var keys: Set<[UInt8]> = []
        for collection in directory.collections {
            try documents.forEachDocument(of: collection) { (key, document) throws(EngineError) in
                let written = try onDocument(key) { () throws(Malformed) in
                    try document.read { bytes throws(Malformed) in
                        try EncodedDocument(bytes).header().time(of: site)
                    }
                }
                if written > time, !document.isRemnant { keys.insert(key) }
                return true
            }
        }
        keys.formUnion(pending.keys(startingWith: StoreKey.documents.lower))
        for key in keys.sorted(by: { $0.lexicographicallyPrecedes($1) }) {
            let position = try open(DocumentKey(key))
            guard let state = working[position].state else { continue }
            let moved = try onDocument(key) { () throws(Malformed) in
                try state.span.withUnsafeBytes { (bytes) throws(Malformed) in
                    try EncodedDocument(bytes).movingWrites(
                        of: site, after: time, to: other, directory.names)
                }
            }
            guard let moved else { continue }
            // In the place of the old state: joined with it, both would stay.
            _ = working[position].forget()
            try working[position].take(
                ChangedBytes(bytes: moved, spellsNames: true), directory.names)
            try countLength(working[position].changedLength)
            notePending(position)
        }
    }
}
