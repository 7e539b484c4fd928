import SheafBytes
import SheafDocument
import SheafStorage

/// Puts the links of a store right after it was opened: they are not in the log, and the tree has
/// those of its checkpoint.
///
/// What has changed since is where the tree says that it is: behind the commit up to which the links
/// are right. Where that commit cannot be read any more, all links are made anew.
struct LinkMender {
    private let snapshot: DocumentSnapshot
    private let linked: LinkMark

    /// Puts the links right, if they are not; false where commits wait for the disk.
    @discardableResult
    static func mend(
        _ store: StoreEngine, _ directory: Directory
    ) throws(EngineError) -> Bool {
        let snapshot = store.snapshot()
        guard snapshot.linked.commit != snapshot.commit else { return true }
        let mender = LinkMender(
            snapshot: DocumentSnapshot(snapshot, directory), linked: snapshot.linked)
        return store.mendLinks(of: snapshot, try mender.changes())
    }

    /// The state with its links put right in memory, where they are not.
    static func mend(
        _ state: MendableSnapshot, _ directory: Directory
    ) throws(EngineError) -> LogSnapshot {
        let snapshot = state.snapshot
        guard snapshot.linked.commit != snapshot.commit else { return snapshot }
        let mender = LinkMender(
            snapshot: DocumentSnapshot(snapshot, directory), linked: snapshot.linked)
        return state.mended(try mender.changes())
    }

    private func changes() throws(EngineError) -> LinkChanges {
        var changes = LinkChanges()
        if reachesBack, try mendChanged(&changes) { return changes }
        changes = LinkChanges()
        changes.unlink(LinkChanges.all)
        var links = DocumentLinks(snapshot.directory.indexes, snapshot.names)
        try links.linkAll(in: snapshot, &changes)
        changes.sort()
        return changes
    }

    /// Whether the log tells what documents were when the links were right, and what was removed.
    private var reachesBack: Bool {
        linked.commit > 0 && linked.commit >= snapshot.log.foldedThrough
            && linked.end >= snapshot.log.removalsFoldedThrough
    }

    /// Mends what has changed; false where the past of a document is not known after all.
    private func mendChanged(_ changes: inout LinkChanges) throws(EngineError) -> Bool {
        let (kept, new) = split(snapshot.directory.indexes)
        forEachChange(in: StoreKey.indexes) { key, _ in
            guard case .index(let collection, let number)? = key.withUnsafeBytes({ StoreKey($0) })
            else { return }
            changes.unlink(IndexEntry.range(collection: collection, number: number))
        }
        var links = DocumentLinks(kept, snapshot.names)
        var changed: [(key: [UInt8], place: Place?)] = []
        forEachChange(in: StoreKey.documents) { changed.append(($0, $1)) }
        for (key, place) in changed {
            guard let earlier = try earlierLinks(to: key, &links) else { return false }
            try onStorage { () throws(StorageError) in
                for link in earlier { try changes.unlink(link) }
            }
            guard let place else { continue }
            try links.link(key, at: place, in: snapshot, &changes)
        }
        var made = DocumentLinks(new, snapshot.names, linksTombstones: false)
        try made.linkAll(in: snapshot, &changes)
        changes.sort()
        return true
    }

    /// The links that a document had when they were right; nothing where its past is not known.
    private func earlierLinks(
        to key: [UInt8], _ links: inout DocumentLinks
    ) throws(EngineError) -> [[UInt8]]? {
        let tombstone = TombstoneLink.key(toDocument: key)
        // Whether it was a tombstone says the tree, and of indexes there is nothing to know.
        guard links.hasIndexes(ofDocument: key) else {
            let isLinked = tombstone.withUnsafeBytes { snapshot.log.tree.find($0) != nil }
            return isLinked ? [tombstone] : []
        }
        guard let past = try snapshot.document(key, asOf: linked.commit) else { return nil }
        return try links.keys(of: past, key)
    }

    /// The indexes that have links, and those that were made since.
    private func split(
        _ indexes: [UInt16: [IndexDefinition]]
    ) -> (kept: [UInt16: [IndexDefinition]], new: [UInt16: [IndexDefinition]]) {
        var (kept, new): ([UInt16: [IndexDefinition]], [UInt16: [IndexDefinition]]) = ([:], [:])
        for definition in indexes.values.joined() {
            let place = definition.key.withUnsafeBytes { snapshot.log.place(of: $0) }
            if let place, place.position < linked.end {
                kept[definition.collection, default: []].append(definition)
            } else {
                new[definition.collection, default: []].append(definition)
            }
        }
        return (kept, new)
    }

    /// Calls `body` with each key of a range that was written or removed since; without a place
    /// where it is not there any more.
    private func forEachChange(
        in range: KeyRange, _ body: (_ key: [UInt8], _ place: Place?) -> Void
    ) {
        snapshot.log.tree.forEach(in: range) { key, value in
            if let place = Place(value), place.position >= linked.end { body(Array(key), place) }
            return true
        }
        snapshot.log.forEachRemoval(in: range) { key, place in
            if place.position >= linked.end { body(Array(key), nil) }
        }
    }
}
