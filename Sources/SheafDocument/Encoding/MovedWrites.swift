package import SheafBytes

/// Which stamps of a document get another site.
private struct SiteMove {
    let site: Site
    let time: HybridTime
    let other: Site
    /// Whether sums keep their stamps, except those that count from a restart that is moved.
    let keepsSums: Bool
    /// Whether the site has added to a counter, or restarted one, after the time.
    ///
    /// A sum that the site has added to since includes its earlier additions, so it cannot be assigned to another
    /// site: a peer that has the earlier sum would count these twice.
    let hasCounted: Bool

    init(
        of site: Site, after time: HybridTime, to other: Site, keepsSums: Bool,
        in document: EncodedDocument, _ names: NameTable
    ) throws(Malformed) {
        (self.site, self.time, self.other, self.keepsSums) = (site, time, other, keepsSums)
        var hasCounted = false
        try DotWalk.visit(document, names) { item in
            switch item.kind {
            case .sum, .olderSum, .restart: break
            default: return
            }
            for stamp in [item.stamp, item.epoch] {
                if let stamp, stamp.site == site, stamp.time > time { hasCounted = true }
            }
        }
        self.hasCounted = hasCounted
    }

    func moved(_ stamp: Stamp, _ kind: Dot.Kind) -> Stamp {
        guard stamp.site == site else { return stamp }
        guard !keepsSums else { return stamp.time > time ? Stamp(stamp.time, other) : stamp }
        // If the site has counted since the pause, later stamps keep the site, and older ones get the other
        // site: otherwise peers that have seen forgotten writes would drop the older parts. Of sums and restarts
        // the join keeps the later; what the same statement wrote besides them does not keep its stamp.
        let isMoved = hasCounted ? stamp.time <= time && !kind.isCounted : stamp.time > time
        return isMoved ? Stamp(stamp.time, other) : stamp
    }

    func moved(_ dot: Dot) -> Dot {
        let epoch = moved(dot.epoch, .restart)
        // With another site, a sum would be counted beside the one with this site, which not all stores move. The two
        // do not count together if they count from different restarts.
        let isKept = keepsSums && dot.kind.isSum && epoch == dot.epoch
        return Dot(
            dot.kind, isKept ? dot.stamp : moved(dot.stamp, dot.kind), epoch: epoch, dot.content)
    }

    func moved(_ vector: VersionVector) -> VersionVector {
        // With `keepsSums`, all writes in the pause were seen: what of them was removed stays so.
        guard !hasCounted, !keepsSums else {
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

/// Writes a document dot by dot: another site can change the order of dots of one time.
private struct MovedDots {
    let source: JoinSide
    let move: SiteMove
    let names: NameTable

    func write(_ root: EncodedEntry, into writer: inout EntryWriter) throws(Malformed) {
        let (marks, map) = try contents(of: root)
        try writer.writeRoot(marks: marks.dots, isPartial: false) { (writer) throws(Malformed) in
            try writeFields(of: map, depth: 1, into: &writer)
        }
    }

    private func contents(
        of entry: EncodedEntry
    ) throws(Malformed) -> (FieldContents, EncodedObject?) {
        let side = try entry.content(source, isWhole: true)
        var field = FieldContents()
        field.dots = side.dots.map(move.moved)
        field.hasMap = side.map.object != nil
        field.overrides = side.overrides
        return (field, side.map.object)
    }

    private func writeFields(
        of map: EncodedObject?, depth: Int, into writer: inout EntryWriter
    ) throws(Malformed) -> Int {
        guard depth <= Value.maximumDepth else {
            throw .tooDeep(at: map?.start ?? 0, limit: Value.maximumDepth)
        }
        let frame = writer.beginObject()
        for index in 0..<(map?.count ?? 0) {
            guard let map else { break }
            try writer.beginField(index, of: map)
            let (field, inner) = try contents(of: try map.entry(index))
            _ = try field.write(into: &writer, names, depth: depth) {
                (writer) throws(Malformed) in
                try writeFields(of: inner, depth: depth + 1, into: &writer)
            }
            writer.endField()
        }
        let count = writer.fieldCount(frame)
        _ = writer.endObject(frame)
        return count
    }
}

extension EncodedDocument {
    /// The same state, where what `site` has written after `time` has the stamps of `other`; nil where there
    /// is nothing of that.
    ///
    /// If `site` has added to a counter after `time`, the assignment is reversed: the later writes keep their
    /// stamps, and the earlier ones have the stamps of `other`. With `keepsSums`, sums keep their stamps instead,
    /// except those that count from a restart that is moved.
    package func movingWrites(
        of site: Site, after time: HybridTime, to other: Site, keepsSums: Bool = false,
        _ names: NameTable
    ) throws(Malformed) -> [UInt8]? {
        let header = try header()
        let vector = try header.vector()
        guard vector.time(of: site) > time else { return nil }
        guard !isPartial else { throw .invalid("a delta in the place of a state", at: 0) }
        let move = try SiteMove(
            of: site, after: time, to: other, keepsSums: keepsSums, in: self, names)
        let dots = MovedDots(source: try JoinSide(self), move: move, names: names)
        return try DocumentWriter.write(
            vector: move.moved(vector), base: nil,
            deletion: try header.deletion().map { move.moved($0, .value) }, isPartial: false,
            capacity: bytes.count + 64
        ) { (writer) throws(Malformed) in
            try dots.write(root, into: &writer)
        }
    }
}
