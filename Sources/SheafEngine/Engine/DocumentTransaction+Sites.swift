import SheafBytes
package import SheafDocument

/// Changes of the site, so that one stamp never identifies two writes.
extension DocumentTransaction {
    /// Continues with another site.
    ///
    /// Documents with evicted writes of the old site can return; those writes must not count as
    /// seen.
    mutating func changeSite() {
        clock = HybridClock(
            site: clock.site.following(clock.latest), latest: clock.latest,
            leniencyMilliseconds: clock.leniencyMilliseconds)
        stamp = nil
        hasChangedSite = true
    }

    /// Checks the time of this store's last write in a received document.
    ///
    /// If the document has later writes than the store made, or lacks writes that it evicted, the
    /// store switches to another site. `seen` is the time in the stored document.
    package mutating func checkOwnWrites(
        _ time: HybridTime, of position: Int, seen: HybridTime? = nil
    ) {
        // Otherwise a peer could send ever later times of a new site, and cause a new site each
        // time.
        let isLater = !ownWrites.isOfNewSite && seen.map { time > $0 } ?? false
        if ownWrites.lacks(time) || isLater { recordMissingWrite(time) }
        if time > clock.latest || time < working[position].evictedTime(of: clock.site) {
            hasUnknownOwnWrites = true
        }
    }

    /// Records that a received document has a write of this store that the store lacks.
    mutating func recordMissingWrite(_ time: HybridTime) {
        lacksOwnWrites = true
        uniqueThrough = min(uniqueThrough ?? ownWrites.opened, ownWrites.end(before: time))
    }

    /// Records lost writes of this store that a received document has under a derived site.
    ///
    /// `time` is that of the store's own site in the document. Later sums of a counter would not
    /// include the lost increments, so they need another site.
    package mutating func recordOwnLostWrites(
        in document: BufferedDocument, _ time: HybridTime
    ) throws(EngineError) {
        guard time > .initial else { return }
        let sites = ownDerivedSites()
        guard !sites.isEmpty else { return }
        let times = try onDocument(Array(document.id)) { () throws(Malformed) in
            let header = try EncodedDocument(document.bytes).header()
            var times: [HybridTime] = []
            for origin in sites { times.append(header.time(of: origin.derived)) }
            return times
        }
        for time in times where time > .initial { recordMissingWrite(time) }
    }

    /// Records a write that the sending peer lost and that its later writes would cover.
    package mutating func recordLostWrite(
        of document: BufferedDocument, before: VersionVector
    ) throws(EngineError) {
        guard let (site, pauses) = peerPauses else { return }
        let known = before.time(of: site)
        guard pauses.contains(where: { $0.contains(known) }) else { return }
        let covered = try onDocument(Array(document.id)) { () throws(Malformed) in
            try EncodedDocument(document.bytes).header().time(of: site)
        }
        if covered >= known { lostByPeer = known }
    }

    /// Assigns lost writes to another site if a received document covers but lacks them.
    ///
    /// Returns whether there were any. All stores compute the same site. If the received document
    /// has the writes under that site, the stored ones must become the same.
    package mutating func reassignLostWrites(
        at position: Int, before: VersionVector, receiving vector: VersionVector,
        _ address: DocumentAddress
    ) -> Bool {
        var hasKept = false
        for origin in derivedSites(in: before, joining: vector) {
            do throws(EngineError) {
                let names = catalog.names
                let length = try replace(at: position) { (document) throws(Malformed) in
                    try document.assigningLostWrites(
                        of: origin.site, after: origin.pause.after, to: origin.derived,
                        names)
                }
                if length > 0 { hasKept = true }
            } catch {
                // One document without room for another site must not stop the following ones.
                lostWrites.unmoved.append(UnmovedDocument(address: address, reason: error))
            }
        }
        return hasKept
    }

    /// Assigns lost writes of a received document to another site; nil if there are none.
    ///
    /// This applies if the stored document would cover them, or has them under that site. A delta
    /// with such writes throws `gap`: the complete document is needed.
    package mutating func reassignLostWrites(
        in document: BufferedDocument, before: VersionVector, receiving vector: VersionVector
    ) throws(EngineError) -> [UInt8]? {
        let names = catalog.names
        var moved: [UInt8]?
        for origin in derivedSites(in: vector, joining: before) {
            guard !document.marks.contains(.isPartial) else {
                throw .gap(collection: document.collection, id: .null)
            }
            let bytes = moved ?? Array(document.bytes)
            do throws(EngineError) {
                let result = try onDocument(Array(document.id)) { () throws(Malformed) in
                    try bytes.span.withUnsafeBytes { bytes throws(Malformed) in
                        try EncodedDocument(bytes).assigningLostWrites(
                            of: origin.site, after: origin.pause.after, to: origin.derived,
                            names)
                    }
                }
                moved = result ?? moved
            } catch {
                lostWrites.unmoved.append(UnmovedDocument(address: document.address, reason: error))
            }
        }
        return moved
    }

    /// Returns the derived sites to which lost writes of a document must be assigned before a join.
    ///
    /// A document with both the original and the derived site is left alone, because neither site
    /// shows which removals the other one has seen.
    private func derivedSites(
        in vector: VersionVector, joining other: VersionVector
    ) -> [DerivedSite] {
        guard !knownPauses.isEmpty else { return [] }
        return vector.entries.compactMap { entry in
            guard entry.site != clock.site,
                let origin = knownPauses.derivedSite(entry, endedIn: other),
                vector.time(of: origin.derived) == .initial
            else { return nil }
            return origin
        }
    }

    /// Removes lost sums of counters if the document has a later sum of their store.
    ///
    /// Both sums include the increments from before the pause. `vectors` are those of all documents
    /// joined into this one. Returns whether anything was removed.
    package mutating func removeLostSums(
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
            let names = catalog.names
            return try replace(at: position) { (document) throws(Malformed) in
                try document.removingLostSums(of: stores, names)
            } > 0
        } catch {
            lostWrites.unmoved.append(UnmovedDocument(address: address, reason: error))
            return false
        }
    }

    /// Returns the origin of a derived site of any store, including this one; nil for other sites.
    private mutating func origin(of site: Site) -> DerivedSite? {
        if let known = knownPauses.origin(of: site) { return known }
        return ownDerivedSites().first { $0.derived == site }
    }

    /// Returns the derived sites for the lost writes of this store.
    private mutating func ownDerivedSites() -> [DerivedSite] {
        let sites = ownDerived ?? DerivedSite.all(of: clock.site, ownWrites.endedPauses)
        ownDerived = sites
        return sites
    }
}
