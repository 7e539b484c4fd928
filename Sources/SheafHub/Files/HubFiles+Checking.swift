import SheafAttachments
import SheafDocument
import SheafEngine
import SheafHubLog
import SheafReplication
import SheafStatements
import SheafStorage

/// The comparison of all objects with all documents: files that are missing, and unused ones.
extension HubFiles {
    /// The objects of files.
    private struct Listing {
        var heads: Set<AttachmentID> = []
        var parts: [AttachmentID: Set<Int>] = [:]

        init(_ names: [String]) {
            for name in names {
                guard let (id, part) = HubObjectName.file(named: name) else { continue }
                if let part { parts[id, default: []].insert(part) } else { heads.insert(id) }
            }
        }

        var ids: Set<AttachmentID> { heads.union(parts.keys) }
    }

    /// Finds the files that the object store lacks, and removes those that are not used any more.
    mutating func checkAll(
        _ view: HubView, at now: UInt64
    ) throws(SnapshotFailure) -> [Event] {
        // Objects are listed first: those of documents that are written later are not in the list.
        let listing = Listing(
            try onLog { () throws(HubLogError) in
                try objects.list(HubObjectName.files)
            })
        let snapshot = peer.queries.documents.snapshot()
        let references = try references(in: snapshot, after: nil)
        scanned = snapshot.log.commit
        let named = references.reduce(into: Set<AttachmentID>()) { $0.formUnion($1.ids) }
        unstored = unstored.filter { named.contains($0.key) }
        let incomplete = Set(named.filter { lacksParts($0, listing) })
        for reference in references {
            add(reference, at: now, butStored: listing.heads.subtracting(incomplete))
        }
        for id in incomplete { unstored[id]?.isIncomplete = true }
        guard mayRemove(view) else {
            unreferenced = [:]
            return []
        }
        return try clean(listing, named, snapshot, at: now)
    }

    /// Whether this hub removes files: one hub does, whose store has all documents that the log
    /// had at the comparison before.
    private mutating func mayRemove(_ view: HubView) -> Bool {
        defer { readBefore = view.shards.map(\.progress.read) }
        guard view.isSettled else { return false }
        return view.shards.indices.allSatisfy { index in
            let shard = view.shards[index]
            let isStored =
                !readBefore.indices.contains(index) || shard.progress.stored >= readBefore[index]
            return view.isChosen(for: UInt16(index)) && shard.incidents.isEmpty
                && !shard.lacksEntries && isStored
        }
    }

    /// Whether the object store lacks parts of a file that is stored here.
    private func lacksParts(_ id: AttachmentID, _ listing: Listing) -> Bool {
        guard listing.heads.contains(id), (try? peer.attachments.has(id)) ?? false,
            let list = (try? peer.attachments.chunkList(of: id)) ?? nil
        else { return false }
        return listing.parts[id]?.count ?? 0 < FileObject(id, list, settings).partCount
    }

    /// Removes the files that no document has referenced for a period.
    private mutating func clean(
        _ listing: Listing, _ named: Set<AttachmentID>, _ snapshot: DocumentSnapshot,
        at now: UInt64
    ) throws(SnapshotFailure) -> [Event] {
        var unused = listing.ids.subtracting(named)
        do throws(EngineError) {
            // Objects that look like tokens retain files, too.
            if !unused.isEmpty {
                unused.subtract(try snapshot.referencedAttachments(among: unused))
            }
        } catch {
            throw .store(error)
        }
        unreferenced = unreferenced.filter { unused.contains($0.key) }
        var events: [Event] = []
        for id in unused.sorted(by: { $0.description < $1.description }) {
            let since = unreferenced[id] ?? now
            unreferenced[id] = since
            guard now >= since + settings.removalMilliseconds else { continue }
            // Without the head no hub begins to read the parts.
            if listing.heads.contains(id) { try remove(HubObjectName.file(id)) }
            for part in listing.parts[id] ?? [] { try remove(HubObjectName.file(id, part: part)) }
            unreferenced[id] = nil
            events.append(.removed(id))
        }
        return events
    }

    func remove(_ name: String) throws(SnapshotFailure) {
        try onLog { () throws(HubLogError) in try objects.remove(name) }
    }
}

/// Runs a closure that uses the engine, and converts its errors.
func onLog<Result>(
    _ body: () throws(HubLogError) -> Result
) throws(SnapshotFailure) -> Result {
    do throws(HubLogError) { return try body() } catch { throw .log(error) }
}

/// Runs a closure that uses stored attachments, and converts its errors.
func onFiles<Result>(
    _ body: () throws(AttachmentError) -> Result
) throws(SnapshotFailure) -> Result {
    do throws(AttachmentError) { return try body() } catch { throw .file(error) }
}
