package import SheafBytes

/// What a site has written after a time, as if another site had written it.
private struct MovedStamps: StampSource {
    let header: EncodedHeader
    let site: Site
    let time: HybridTime
    let other: Site

    func moved(_ stamp: Stamp) -> Stamp {
        stamp.site == site && stamp.time > time ? Stamp(stamp.time, other) : stamp
    }

    func stamp(_ reference: UInt32) throws(Malformed) -> Stamp {
        moved(try header.stamp(reference))
    }

    func moved(_ vector: VersionVector) -> VersionVector {
        var moved = VersionVector()
        for entry in vector.entries where entry.site != site {
            moved.note(Stamp(entry.time, entry.site))
        }
        if time > .initial { moved.note(Stamp(time, site)) }
        moved.note(Stamp(vector.time(of: site), other))
        return moved
    }
}

extension EncodedDocument {
    /// The same state, where what `site` has written after `time` has the stamps of `other`; nil where there
    /// is nothing of that.
    ///
    /// Where a part of it is the sum of a counter, the vector alone names the other site: such a sum has what
    /// was added before `time`, too.
    package func movingWrites(
        of site: Site, after time: HybridTime, to other: Site, _ names: NameTable
    ) throws(Malformed) -> [UInt8]? {
        let header = try header()
        let vector = try header.vector()
        guard vector.time(of: site) > time else { return nil }
        var hasSum = false
        try DotWalk.visit(self, names) { item in
            switch item.kind {
            case .sum, .olderSum, .restart: hasSum = hasSum || item.stamp?.site == site
            default: break
            }
        }
        var noted = vector
        noted.note(Stamp(vector.time(of: site), other))
        let stamps = MovedStamps(
            header: header, site: site, time: hasSum ? HybridTime(rawValue: .max) : time,
            other: other)
        let source = CopySource(
            stamps: stamps,
            root: try header.rootStamp(readingTo: bytes.count).map { stamps.moved($0) })
        let renaming = Renaming(names: names, others: names, source: source)
        return try DocumentWriter.write(
            vector: hasSum ? noted : stamps.moved(vector), base: nil,
            deletion: try header.deletion().map { stamps.moved($0) }, isPartial: isPartial,
            capacity: bytes.count + 64
        ) { (writer) throws(Malformed) in
            guard try root.tag() != .noRoot else { return writer.write(.noRoot) }
            writer.rootStamp = nil
            try renaming.write(root, isRoot: true, depth: 0, into: &writer)
        }
    }
}
