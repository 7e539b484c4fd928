package import SheafBytes

/// A reassignment of stamps of a document from one site to another.
private struct SiteSubstitution {
    let site: Site
    let time: HybridTime
    let other: Site
    /// Whether the stamps up to `time` are reassigned, instead of the later ones.
    let isReversed: Bool
    /// Whether the version vector keeps its time of `site`.
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
            var result = vector
            result.record(Stamp(vector.time(of: site), other))
            return result
        }
        var moved = VersionVector()
        for entry in vector.entries where entry.site != site {
            moved.record(Stamp(entry.time, entry.site))
        }
        if time > .initial { moved.record(Stamp(time, site)) }
        moved.record(Stamp(vector.time(of: site), other))
        return moved
    }
}

/// The sum that a store added to a counter, under one of its sites.
private struct StoreSum {
    let isOlder: Bool
    let stamp: Stamp
    let epoch: Stamp

    init?(_ dot: Dot) {
        guard dot.kind.isSum else { return nil }
        (isOlder, stamp, epoch) = (dot.kind == .olderSum, dot.stamp, dot.epoch)
    }

    /// Whether `other` is a later sum of the store that includes the same increments.
    func isReplaced(by other: StoreSum) -> Bool {
        other.isOlder == isOlder && other.epoch == epoch && other.stamp > stamp
    }
}

/// Sums of lost writes that later sums of the same store include.
private struct ReplacedSums {
    private let side: JoinSide
    private let stores: [Site: Set<Site>]
    private let names: NameTable
    /// The version vector with an entry for each removal.
    private(set) var vector: VersionVector
    private(set) var isEmpty = true

    init(
        in document: EncodedDocument, of stores: [Site: Set<Site>], _ names: NameTable
    ) throws(Malformed) {
        side = try JoinSide(document)
        (self.stores, self.names) = (stores, names)
        vector = try document.vector()
        try collect(from: document.root, path: [])
    }

    /// Whether a dot of the same field replaces this one.
    func contain(_ dot: Dot, in dots: [Dot]) -> Bool {
        guard let siblings = stores[dot.stamp.site], let sum = StoreSum(dot) else { return false }
        return dots.contains { other in
            guard siblings.contains(other.stamp.site), let other = StoreSum(other) else {
                return false
            }
            return sum.isReplaced(by: other)
        }
    }

    private mutating func collect(from field: EncodedEntry, path: [String]) throws(Malformed) {
        var dots: [Dot] = []
        var maps: [EncodedObject] = []
        try field.forEachEntry { (entry) throws(Malformed) in
            switch try entry.tag() {
            case .sum: dots.append(try Dot(entry, .sum, side.header, root: side.source.root))
            case .olderSum:
                dots.append(try Dot(entry, .olderSum, side.header, root: side.source.root))
            case .map, .bareMap: maps.append(try entry.object())
            default: break
            }
        }
        for dot in dots where contain(dot, in: dots) {
            let removal = dot.stamp.site.removal(ofSumsAt: path, isOlder: dot.kind == .olderSum)
            vector.record(Stamp(dot.stamp.time, removal))
            isEmpty = false
        }
        for map in maps {
            guard path.count < Value.maximumDepth else {
                throw .tooDeep(at: map.start, limit: Value.maximumDepth)
            }
            for index in 0..<map.count {
                let name = try map.name(index, names)
                try collect(from: try map.entry(index), path: path + [name])
            }
        }
    }
}

/// A rewriter of a document with other dots; their order may change, so fields are rewritten.
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
        let side = try entry.content(source, isComplete: true)
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
    /// Returns the state with the writes of `site` after `time` reassigned to `other`; nil if none.
    ///
    /// If `site` has incremented or restarted a counter after `time`, the reassignment is reversed:
    /// the later writes keep their stamps, and the earlier ones get the site `other`. A sum
    /// includes the earlier increments of its site, and a peer with the earlier sum would count
    /// these twice, so sums and restarts keep their stamps. Without the reversal, peers that have
    /// seen lost writes would drop earlier parts as replaced.
    ///
    /// Otherwise the version vector ends at `time`, unless other sites have later writes: these may
    /// have replaced writes of `site`, which the vector must cover.
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
            SiteSubstitution(
                site: site, time: time, other: other, isReversed: hasCounted,
                keepsTime: hasOthers),
            names)
    }

    /// Returns the state with the lost writes of `site` reassigned to `other`; nil if none.
    ///
    /// Lost writes are those after `time`. The version vector keeps its time of `site`: the state
    /// covers these writes under both sites.
    package func assigningLostWrites(
        of site: Site, after time: HybridTime, to other: Site, _ names: NameTable
    ) throws(Malformed) -> [UInt8]? {
        guard try header().time(of: site) > time else { return nil }
        return try moving(
            SiteSubstitution(
                site: site, time: time, other: other, isReversed: false, keepsTime: true),
            names)
    }

    private func moving(_ move: SiteSubstitution, _ names: NameTable) throws(Malformed) -> [UInt8] {
        try changing(
            vector: move.moved(try vector()),
            deletion: try header().deletion().map { move.moved($0, .value) }, names
        ) { $0.map(move.moved) }
    }

    /// Returns the state without sums of lost writes that later sums include; nil if none.
    ///
    /// The lost sum and the later one both include the earlier increments of the store. For each
    /// field, the version vector records the removal with a derived site, so that states with and
    /// without the lost sum have different vectors.
    ///
    /// - Parameter stores: Sites of lost writes, each with all sites of its store.
    package func removingLostSums(
        of stores: [Site: Set<Site>], _ names: NameTable
    ) throws(Malformed) -> [UInt8]? {
        let replaced = try ReplacedSums(in: self, of: stores, names)
        guard !replaced.isEmpty else { return nil }
        return try changing(vector: replaced.vector, deletion: try deletion(), names) { dots in
            dots.filter { !replaced.contain($0, in: dots) }
        }
    }

    private func changing(
        vector: VersionVector, deletion: Stamp?, _ names: NameTable, _ change: ([Dot]) -> [Dot]
    ) throws(Malformed) -> [UInt8] {
        guard !isPartial else { throw .invalid("a delta instead of a state", at: 0) }
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
