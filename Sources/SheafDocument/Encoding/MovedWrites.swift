package import SheafBytes

/// Which stamps of a document get another site.
private struct SiteMove {
    let site: Site
    let time: HybridTime
    let other: Site
    /// Whether the stamps up to the time are assigned to the other site, instead of the later ones.
    let isReversed: Bool
    /// Whether the vector keeps its time of the site.
    let keepsTime: Bool

    func moved(_ stamp: Stamp, _ kind: Dot.Kind) -> Stamp {
        guard stamp.site == site else { return stamp }
        let isMoved = isReversed ? stamp.time <= time && !kind.isCounted : stamp.time > time
        return isMoved ? Stamp(stamp.time, other) : stamp
    }

    func moved(_ dot: Dot) -> Dot {
        Dot(
            dot.kind, moved(dot.stamp, dot.kind), epoch: moved(dot.epoch, .restart), dot.content)
    }

    func moved(_ vector: VersionVector) -> VersionVector {
        guard !isReversed, !keepsTime else {
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

/// The additions of a store to a counter, under one of its sites.
private struct StoreSum {
    let isOlder: Bool
    let stamp: Stamp
    let epoch: Stamp

    init?(_ dot: Dot) {
        guard dot.kind.isSum else { return nil }
        (isOlder, stamp, epoch) = (dot.kind == .olderSum, dot.stamp, dot.epoch)
    }

    init?(_ item: DotWalk.Item) {
        guard let stamp = item.stamp else { return nil }
        switch item.kind {
        case .sum: isOlder = false
        case .olderSum: isOlder = true
        default: return nil
        }
        (self.stamp, epoch) = (stamp, item.epoch ?? .initial)
    }

    /// Whether one of the sums of the store is later, and includes the same additions.
    func isReplaced(by sums: [StoreSum]) -> Bool {
        sums.contains { $0.isOlder == isOlder && $0.epoch == epoch && $0.stamp > stamp }
    }
}

/// Writes a document with other dots, field by field: another site can change the order of dots of one time.
private struct ChangedDots {
    let source: JoinSide
    let names: NameTable
    let change: ([Dot]) -> [Dot]

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
        field.dots = change(side.dots)
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
    /// If `site` has added to a counter, or restarted one, after `time`, the assignment is reversed: the later writes
    /// keep their stamps, and the earlier ones have the stamps of `other`. A sum includes the earlier additions of its
    /// site, and a peer that has the earlier sum would count these twice. So sums and restarts keep their stamps then;
    /// without the reversal, peers that have seen forgotten writes would drop the earlier parts.
    ///
    /// Otherwise the vector ends at `time`, unless other sites have written later: they may have replaced writes of
    /// `site`, and the vector must tell that these were seen.
    package func movingWrites(
        of site: Site, after time: HybridTime, to other: Site, _ names: NameTable
    ) throws(Malformed) -> [UInt8]? {
        guard try header().time(of: site) > time else { return nil }
        var hasCounted = false
        try DotWalk.visit(self, names) { item in
            switch item.kind {
            case .sum, .olderSum, .restart: break
            default: return
            }
            for stamp in [item.stamp, item.epoch] {
                if let stamp, stamp.site == site, stamp.time > time { hasCounted = true }
            }
        }
        let hasOthers = try vector().entries.contains { $0.site != site && $0.time > time }
        return try moving(
            SiteMove(
                site: site, time: time, other: other, isReversed: hasCounted,
                keepsTime: hasOthers),
            names)
    }

    /// The same state, where the forgotten writes of `site`, those after `time`, have the stamps of `other`; nil where
    /// there is nothing of that.
    ///
    /// The vector keeps its time of `site`: the state has seen these writes under both sites.
    package func assigningForgottenWrites(
        of site: Site, after time: HybridTime, to other: Site, _ names: NameTable
    ) throws(Malformed) -> [UInt8]? {
        guard try header().time(of: site) > time else { return nil }
        return try moving(
            SiteMove(site: site, time: time, other: other, isReversed: false, keepsTime: true),
            names)
    }

    private func moving(_ move: SiteMove, _ names: NameTable) throws(Malformed) -> [UInt8] {
        try changing(
            vector: move.moved(try vector()),
            deletion: try header().deletion().map { move.moved($0, .value) }, names
        ) { $0.map(move.moved) }
    }

    /// The same state without the sums of `forgotten`, a site of forgotten writes, where a later one of `sites`, those of
    /// the same store, has the same epoch; nil where there are none.
    ///
    /// Both sums include the earlier additions of the store. For each field, the vector notes the removal with a
    /// derived site, so that states with and without the sum have different vectors.
    package func removingForgottenSums(
        of forgotten: Site, replacedBy sites: Set<Site>, _ names: NameTable
    ) throws(Malformed) -> [UInt8]? {
        var sums: [[String]: [StoreSum]] = [:]
        try DotWalk.visit(self, names) { item in
            guard let sum = StoreSum(item), sites.contains(sum.stamp.site) else { return }
            sums[item.path, default: []].append(sum)
        }
        var vector = try vector()
        let before = vector
        for (path, sums) in sums {
            for sum in sums where sum.stamp.site == forgotten && sum.isReplaced(by: sums) {
                vector.note(Stamp(sum.stamp.time, forgotten.removal(ofSumsAt: path)))
            }
        }
        guard vector != before else { return nil }
        return try changing(vector: vector, deletion: try deletion(), names) { dots in
            let sums = dots.compactMap { StoreSum($0) }.filter { sites.contains($0.stamp.site) }
            return dots.filter { dot in
                guard dot.stamp.site == forgotten, let sum = StoreSum(dot) else { return true }
                return !sum.isReplaced(by: sums)
            }
        }
    }

    private func changing(
        vector: VersionVector, deletion: Stamp?, _ names: NameTable, _ change: ([Dot]) -> [Dot]
    ) throws(Malformed) -> [UInt8] {
        guard !isPartial else { throw .invalid("a delta in the place of a state", at: 0) }
        let source = try JoinSide(self)
        return try withoutActuallyEscaping(change) { (change) throws(Malformed) in
            let dots = ChangedDots(source: source, names: names, change: change)
            return try DocumentWriter.write(
                vector: vector, base: nil, deletion: deletion, isPartial: false,
                capacity: bytes.count + 64
            ) { (writer) throws(Malformed) in
                try dots.write(root, into: &writer)
            }
        }
    }
}
