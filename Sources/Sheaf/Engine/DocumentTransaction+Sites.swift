import SheafBytes
import SheafDocument
import SheafSync

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

    /// Records that a received document has forgotten writes of this store under a derived site; `time` is that of
    /// the store's own site in the document.
    ///
    /// Later additions to a counter would not include the forgotten ones, so they need another site.
    mutating func noteOwnForgotten(
        in document: PiledDocument, _ time: HybridTime
    ) throws(EngineError) {
        guard time > .initial else { return }
        let sites = ownForgottenSites()
        guard !sites.isEmpty else { return }
        let times = try onDocument(Array(document.id)) { () throws(Malformed) in
            let header = try EncodedDocument(document.bytes).header()
            var times: [HybridTime] = []
            for origin in sites { times.append(header.time(of: origin.derived)) }
            return times
        }
        for time in times where time > .initial { noteLacking(time) }
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
    /// ones must become the same.
    mutating func keepForgotten(
        at position: Int, before: VersionVector, receiving vector: VersionVector,
        _ address: DocumentAddress
    ) -> Bool {
        var hasKept = false
        for origin in forgottenSites(in: before, joining: vector) {
            do throws(EngineError) {
                let names = directory.names
                let length = try replace(at: position) { (document) throws(Malformed) in
                    try document.assigningForgottenWrites(
                        of: origin.site, after: origin.pause.after, to: origin.derived,
                        names)
                }
                if length > 0 { hasKept = true }
            } catch {
                // One document that has no room for another site must not stop those after it.
                forgotten.unkept.append(UnmovedDocument(address: address, reason: error))
            }
        }
        return hasKept
    }

    /// Assigns forgotten writes in a received document to another site, where the stored one would cover them or has them
    /// with that site; returns nil where there are none.
    ///
    /// A delta that has such writes throws `gap`: the whole document is needed.
    mutating func assigningForgotten(
        in document: PiledDocument, before: VersionVector, receiving vector: VersionVector
    ) throws(EngineError) -> [UInt8]? {
        let names = directory.names
        var moved: [UInt8]?
        for origin in forgottenSites(in: vector, joining: before) {
            guard !document.marks.contains(.isPartial) else {
                throw .gap(collection: document.collection, id: .null)
            }
            let bytes = moved ?? Array(document.bytes)
            do throws(EngineError) {
                let result = try onDocument(Array(document.id)) { () throws(Malformed) in
                    try bytes.span.withUnsafeBytes { bytes throws(Malformed) in
                        try EncodedDocument(bytes).assigningForgottenWrites(
                            of: origin.site, after: origin.pause.after, to: origin.derived,
                            names)
                    }
                }
                moved = result ?? moved
            } catch {
                forgotten.unkept.append(UnmovedDocument(address: document.address, reason: error))
            }
        }
        return moved
    }

    /// Returns the forgotten writes of a document that are to be assigned before another one is joined.
    ///
    /// Of the site of the writes and the site that they are assigned to, neither tells what the other one has seen
    /// removed. So a document that has both stays as it is.
    private func forgottenSites(
        in vector: VersionVector, joining other: VersionVector
    ) -> [ForgottenSite] {
        guard !knownPauses.isEmpty else { return [] }
        return vector.entries.compactMap { entry in
            guard entry.site != clock.site,
                let origin = knownPauses.forgotten(entry, endedIn: other),
                vector.time(of: origin.derived) == .initial
            else { return nil }
            return origin
        }
    }

    /// Removes forgotten additions to counters where the document has a later sum of their store: both sums include the
    /// additions from before the pause; returns whether there were any.
    ///
    /// The vectors are all that have led to the document.
    mutating func removeForgottenSums(
        at position: Int, _ vectors: [VersionVector], _ address: DocumentAddress
    ) -> Bool {
        var stores: [Site: Set<Site>] = [:]
        for vector in vectors {
            for entry in vector.entries {
                if let origin = origin(of: entry.site) { stores[entry.site] = origin.siblings }
            }
        }
        guard !stores.isEmpty else { return false }
        do throws(EngineError) {
            let names = directory.names
            return try replace(at: position) { (document) throws(Malformed) in
                try document.removingForgottenSums(of: stores, names)
            } > 0
        } catch {
            forgotten.unkept.append(UnmovedDocument(address: address, reason: error))
            return false
        }
    }

    /// Returns what the site of forgotten writes of any store was derived from, including this one; nil for all other
    /// sites.
    private mutating func origin(of site: Site) -> ForgottenSite? {
        if let known = knownPauses.origin(of: site) { return known }
        return ownForgottenSites().first { $0.derived == site }
    }

    /// Returns the sites for the forgotten writes of this store.
    private mutating func ownForgottenSites() -> [ForgottenSite] {
        let sites = ownForgotten ?? ForgottenSite.all(of: clock.site, ownWrites.endedPauses)
        ownForgotten = sites
        return sites
    }
}
