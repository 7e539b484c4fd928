import SheafBytes
import SheafDocument

/// When a store goes on as somebody else: stamps of one site must not mean two things.
extension DocumentTransaction {
    /// Writes as another site from now on: what comes back of what this one has written, and forgotten, must
    /// not be taken for seen.
    mutating func changeSite() {
        clock = HybridClock(
            site: clock.site.following(clock.latest), latest: clock.latest,
            leniencyMilliseconds: clock.leniencyMilliseconds)
        stamp = nil
        hasChangedSite = true
    }

    /// Takes in until when a document that comes knows the writes of this store: if it knows of later ones than
    /// this store, or not of all that it has written and forgotten, the store goes on as somebody else.
    ///
    /// `seen` is what the document here knows of it.
    mutating func noteOwnWrites(_ time: HybridTime, of position: Int, seen: HybridTime? = nil) {
        // A peer could name times of a new site again and again, and have a site drawn with each.
        let isLater = !ownWrites.isOfNewSite && seen.map { time > $0 } ?? false
        if ownWrites.lack(time) || isLater { noteLacking(time) }
        if time > clock.latest || time < working[position].forgottenTime(of: clock.site) {
            metOwnFuture = true
        }
    }

    /// Records that a received document has seen a write of this store that the store does not
    /// have.
    mutating func noteLacking(_ time: HybridTime) {
        lacksOwnWrites = true
        uniqueThrough = min(uniqueThrough ?? ownWrites.opened, ownWrites.end(before: time))
    }

    /// Records a write that its peer does not have any more: later writes of the peer would cover
    /// it.
    mutating func notePauses(
        of document: PiledDocument, before: VersionVector
    ) throws(EngineError) {
        guard let (site, pauses) = peerPauses else { return }
        let known = before.time(of: site)
        guard known != .initial, pauses.contains(where: { $0.contains(known) }) else { return }
        let covered = try onDocument(Array(document.id)) { () throws(Malformed) in
            try EncodedDocument(document.bytes).header().time(of: site)
        }
        if covered >= known { forgottenByPeer = known }
    }

    /// Assigns writes that their store has forgotten to another site, where a received document would cover them
    /// without having them; returns whether there were any.
    ///
    /// All stores compute the same site. The received document may have the writes with that site already: then the stored
    /// ones must become the same. A sum includes the earlier additions of its site, so it keeps its stamp, and the join
    /// keeps the later of the two sums.
    mutating func keepForgotten(
        at position: Int, before: VersionVector, receiving document: PiledDocument
    ) throws(EngineError) -> Bool {
        guard !knownPauses.isEmpty else { return false }
        var received: VersionVector?
        var hasKept = false
        for entry in before.entries
        where entry.site != clock.site && knownPauses.has(entry.time, of: entry.site) {
            let vector: VersionVector
            if let received {
                vector = received
            } else {
                vector = try onDocument(Array(document.id)) { () throws(Malformed) in
                    try EncodedDocument(document.bytes).vector()
                }
                received = vector
            }
            guard let pause = knownPauses.pause(containing: entry, endedIn: vector) else {
                continue
            }
            let other = entry.site.forgotten(in: pause)
            // Of both sites, neither tells what the other one has seen go.
            guard before.time(of: other) == .initial else { continue }
            do throws(EngineError) {
                let length = try moveWrites(
                    at: position, of: entry.site, after: pause.after, to: other,
                    keepsSums: true)
                if length > 0 { hasKept = true }
            } catch {
                // One document that has no room for another site must not stop those after it.
                unkept.append(UnmovedDocument(address: document.address, reason: error))
            }
        }
        return hasKept
    }

    /// Assigns forgotten writes in a received document to another site, where the stored one would cover them or has them
    /// with that site; returns nil where there are none.
    ///
    /// A delta that has such writes throws `gap`: the whole document is needed.
    mutating func assigningForgotten(
        in document: PiledDocument, before: VersionVector
    ) throws(EngineError) -> [UInt8]? {
        guard !knownPauses.isEmpty else { return nil }
        let names = directory.names
        let pauses = knownPauses
        let isPartial = document.marks.contains(.isPartial)
        var moved: [UInt8]?
        let vector = try onDocument(Array(document.id)) { () throws(Malformed) in
            try EncodedDocument(document.bytes).vector()
        }
        for entry in vector.entries where entry.site != clock.site {
            guard let pause = pauses.pause(containing: entry, endedIn: before) else { continue }
            let other = entry.site.forgotten(in: pause)
            guard vector.time(of: other) == .initial else { continue }
            guard !isPartial else { throw .gap(collection: document.collection, id: .null) }
            let bytes = moved ?? Array(document.bytes)
            do throws(EngineError) {
                let result = try onDocument(Array(document.id)) { () throws(Malformed) in
                    try bytes.span.withUnsafeBytes { bytes throws(Malformed) in
                        try EncodedDocument(bytes).movingWrites(
                            of: entry.site, after: pause.after, to: other, keepsSums: true,
                            names)
                    }
                }
                moved = result ?? moved
            } catch {
                unkept.append(UnmovedDocument(address: document.address, reason: error))
            }
        }
        return moved
    }
}
