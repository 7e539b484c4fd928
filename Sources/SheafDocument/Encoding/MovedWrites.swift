package import SheafBytes

/// The stamps of a document, with another site assigned to some of them.
private struct MovedStamps: StampSource {
    let header: EncodedHeader
    let site: Site
    let time: HybridTime
    let other: Site
    let kept: KeptCounters

    func moved(_ stamp: Stamp) -> Stamp {
        guard stamp.site == site, !kept.epochs.contains(stamp) else { return stamp }
        // If the site has counted since the pause, later stamps keep the site, and older ones get the other
        // site: otherwise peers that have seen forgotten writes would drop the older parts.
        let isMoved = kept.hasCounted ? stamp.time <= time : stamp.time > time
        return isMoved ? Stamp(stamp.time, other) : stamp
    }

    func stamp(_ reference: UInt32) throws(Malformed) -> Stamp {
        moved(try header.stamp(reference))
    }

    func moved(_ vector: VersionVector) -> VersionVector {
        guard !kept.hasCounted else {
            var noted = vector
            noted.note(Stamp(vector.time(of: site), other))
            return noted
        }
        var moved = VersionVector()
        for entry in vector.entries where entry.site != site {
            moved.note(Stamp(entry.time, entry.site))
        }
        if time > .initial { moved.note(Stamp(time, site)) }
        moved.note(Stamp(vector.time(of: site), other))
        return moved
    }
}

/// The part of a site in the counters of a document.
///
/// A sum that the site has added to since a time includes its earlier additions, so it cannot be assigned to another
/// site: a peer that has the earlier sum would count these twice.
private struct KeptCounters {
    /// Whether the site has added to a counter, or restarted one, after the time.
    private(set) var hasCounted = false
    /// Stamps of counter restarts, which sums of all sites refer to.
    private(set) var epochs: Set<Stamp> = []

    init(
        of document: EncodedDocument, _ site: Site, since time: HybridTime, _ names: NameTable
    ) throws(Malformed) {
        var (stamps, epochs) = ([Stamp](), Set<Stamp>())
        try DotWalk.visit(document, names) { item in
            let epoch: Stamp?
            switch item.kind {
            case .sum, .olderSum: epoch = item.epoch
            case .restart: epoch = item.stamp
            default: return
            }
            if let stamp = item.stamp { stamps.append(stamp) }
            if let epoch { epochs.insert(epoch) }
        }
        hasCounted = (stamps + epochs).contains { $0.site == site && $0.time > time }
        self.epochs = hasCounted ? epochs : []
    }
}

extension EncodedDocument {
    /// The same state, where what `site` has written after `time` has the stamps of `other`; nil where there
    /// is nothing of that.
    ///
    /// If `site` has added to a counter after `time`, the assignment is reversed: the later writes keep their
    /// stamps, and the earlier ones have the stamps of `other`.
    package func movingWrites(
        of site: Site, after time: HybridTime, to other: Site, _ names: NameTable
    ) throws(Malformed) -> [UInt8]? {
        let header = try header()
        let vector = try header.vector()
        guard vector.time(of: site) > time else { return nil }
        let stamps = MovedStamps(
            header: header, site: site, time: time, other: other,
            kept: try KeptCounters(of: self, site, since: time, names))
        let source = CopySource(
            stamps: stamps,
            root: try header.rootStamp(readingTo: bytes.count).map { stamps.moved($0) })
        let renaming = Renaming(names: names, others: names, source: source)
        return try DocumentWriter.write(
            vector: stamps.moved(vector), base: nil,
            deletion: try header.deletion().map { stamps.moved($0) }, isPartial: isPartial,
            capacity: bytes.count + 64
        ) { (writer) throws(Malformed) in
            guard try root.tag() != .noRoot else { return writer.write(.noRoot) }
            writer.rootStamp = nil
            try renaming.write(root, isRoot: true, depth: 0, into: &writer)
        }
    }
}
