import SheafBytes

/// What one side of a join says of a map.
struct MapContent {
    let object: EncodedObject?
    /// Whether names that are not there are known to be gone; otherwise nothing is said of them.
    let isWhole: Bool
}

/// What one side of a join says of a field.
struct FieldSide {
    private(set) var dots: [Dot] = []
    /// Where each dot is, and the earliest sum and restart of each site; only known where there are many dots, as
    /// hardly ever.
    private var positions: [Dot.Identity: Int] = [:]
    private var earliest: [Counted: Stamp] = [:]
    var overrides: PartSet = []
    /// The parts of which all is said.
    var named: PartSet
    /// Whether the marks of the map are among it.
    var namesMarks: Bool
    var map: MapContent
    private let header: EncodedHeader

    private static let searched = 16

    /// Dots of counters of one site.
    private struct Counted: Hashable {
        let kind: Dot.Kind
        let site: Site
    }

    init(_ side: JoinSide, isWhole: Bool) {
        named = isWhole ? .all : []
        namesMarks = isWhole
        map = MapContent(object: nil, isWhole: isWhole)
        header = side.header
    }

    /// Whether all is said of what is of this kind.
    func names(_ kind: Dot.Kind) -> Bool {
        kind == .mark ? namesMarks : named.contains(kind.part)
    }

    mutating func append(_ dot: Dot) {
        dots.append(dot)
        guard dots.count > Self.searched else { return }
        for index in (positions.isEmpty ? 0 : dots.count - 1)..<dots.count {
            let dot = dots[index]
            positions[dot.identity] = index
            if dot.kind.isCounted {
                let counted = Counted(kind: dot.kind, site: dot.stamp.site)
                earliest[counted] = min(earliest[counted] ?? dot.stamp, dot.stamp)
            }
        }
    }

    /// The dot here that has the same stamp, and is of the same kind.
    func twin(of dot: Dot) -> Dot? {
        if dots.count > Self.searched { return positions[dot.identity].map { dots[$0] } }
        return dots.first { $0.kind == dot.kind && $0.stamp == dot.stamp }
    }

    /// Whether a dot is known here and not there any more.
    func hasSeenGo(_ dot: Dot) -> Bool {
        names(dot.kind) && header.covers(dot.stamp) && twin(of: dot) == nil
            && !(dot.kind.isCounted && hasReplaced(by: dot))
    }

    /// Whether there is a sum or a restart here that the site of a later one has replaced with that.
    ///
    /// So this side has not seen the later one. Its vector covers that only because the site was put back to an
    /// older state and has written again.
    private func hasReplaced(by later: Dot) -> Bool {
        let replaced = earliest(later.kind, of: later.stamp.site)
        // If there is a restart, the sum counts from that or a later one, and does not tell.
        if later.kind == .restart, replaced == nil {
            return earliest(.sum, of: later.stamp.site).map { $0 < later.stamp } ?? false
        }
        return replaced.map { $0 < later.stamp } ?? false
    }

    private func earliest(_ kind: Dot.Kind, of site: Site) -> Stamp? {
        if dots.count > Self.searched { return earliest[Counted(kind: kind, site: site)] }
        return dots.filter { $0.kind == kind && $0.stamp.site == site }.map(\.stamp).min()
    }
}

/// What two sides say of a field together, and the two maps that have still to be joined.
struct JoinedContents {
    var field: FieldContents
    let left: MapContent
    let right: MapContent
}

extension EncodedEntry {
    /// What a side has at a field.
    func content(_ side: JoinSide, isWhole: Bool) throws(Malformed) -> FieldSide {
        var field = FieldSide(side, isWhole: isWhole)
        try forEachEntry { (entry) throws(Malformed) in
            let tag = try entry.tag()
            switch tag {
            case .noRoot: break
            case .overrides: field.overrides.formUnion(try entry.partSet())
            case .empty:
                let parts = try entry.partSet()
                field.named.formUnion(parts)
                if parts.contains(.map) {
                    field.namesMarks = true
                    field.map = MapContent(object: nil, isWhole: true)
                }
            case .map, .bareMap:
                let object = try entry.object()
                field.map = MapContent(object: object, isWhole: !object.isPartial)
                if !object.isPartial { field.named.insert(.map) }
                if tag == .map || !object.isPartial { field.namesMarks = true }
            default: break
            }
            guard let kind = Dot.Kind(tag) else { return }
            if kind != .mark { field.named.insert(PartSet(kind.part)) }
            field.append(try Dot(entry, kind, side.header, root: side.source.root))
        }
        return field
    }
}

extension Joiner {
    /// Takes apart what a side has at a field, which may be nothing.
    func content(
        of entry: EncodedEntry?, _ side: JoinSide, isWhole: Bool
    ) throws(Malformed) -> FieldSide {
        guard let entry else { return FieldSide(side, isWhole: isWhole) }
        return try entry.content(side, isWhole: isWhole)
    }

    /// The dots that stay of what two sides have at a field.
    func joined(
        _ left: FieldSide, _ right: FieldSide, dropsSeeds: Bool
    ) throws(Malformed) -> JoinedContents {
        var field = FieldContents()
        field.overrides = dropsSeeds ? [] : left.overrides.union(right.overrides)
        field.named = left.named.union(right.named)
        field.hasMap = left.map.object != nil || right.map.object != nil
        func isOverridden(_ dot: Dot) -> Bool {
            dot.stamp == .initial && (dropsSeeds || field.overrides.contains(dot.kind.part))
        }
        for dot in left.dots where !isOverridden(dot) && !right.hasSeenGo(dot) {
            if let twin = right.twin(of: dot), try twin.isGreater(than: dot, names) {
                field.dots.append(twin)
            } else {
                field.dots.append(dot)
            }
        }
        for dot in right.dots
        where !isOverridden(dot) && !left.hasSeenGo(dot) && left.twin(of: dot) == nil {
            field.dots.append(dot)
        }
        return JoinedContents(field: field, left: left.map, right: right.map)
    }
}
