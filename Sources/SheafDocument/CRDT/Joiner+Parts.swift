import SheafBytes

/// A map in one operand of a join.
struct MapContent {
    let object: EncodedObject?
    /// Whether absent fields are deleted; a partial map only omits them.
    let isComplete: Bool
}

/// A field in one operand of a join.
struct FieldSide {
    private(set) var dots: [Dot] = []
    /// Index of each dot, and the earliest sum and restart of each site.
    ///
    /// Both are maintained only for fields with many dots, which are rare.
    private var positions: [Dot.Identity: Int] = [:]
    private var earliest: [Counted: Stamp] = [:]
    var overrides: PartSet = []
    /// Parts that the operand names.
    var named: PartSet
    /// Whether the operand names the marks of the map.
    var namesMarks: Bool
    var map: MapContent
    private let header: EncodedHeader

    private static let searched = 16

    /// The key of counter dots of one kind and site.
    private struct Counted: Hashable {
        let kind: Dot.Kind
        let site: Site
    }

    init(_ side: JoinSide, isComplete: Bool) {
        named = isComplete ? .all : []
        namesMarks = isComplete
        map = MapContent(object: nil, isComplete: isComplete)
        header = side.header
    }

    /// Whether the operand names the dots of this kind.
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

    /// Returns the dot with the same stamp and kind.
    func matchingDot(of dot: Dot) -> Dot? {
        if dots.count > Self.searched { return positions[dot.identity].map { dots[$0] } }
        return dots.first { $0.kind == dot.kind && $0.stamp == dot.stamp }
    }

    /// Whether this operand covers the dot and has removed it.
    func hasSeenGo(_ dot: Dot) -> Bool {
        names(dot.kind) && header.covers(dot.stamp) && matchingDot(of: dot) == nil
            && !(dot.kind.isCounted && hasReplaced(by: dot))
    }

    /// Whether this operand has an earlier sum or restart that the site later replaced by `later`.
    ///
    /// Then the operand does not have `later`: its vector covers `later` only because the site was
    /// restored to an older state and has written again.
    private func hasReplaced(by later: Dot) -> Bool {
        let replaced = earliest(later.kind, of: later.stamp.site)
        // With a restart present, the sum counts from that one or a later one, and proves nothing.
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

/// The joined dots of a field, and its two maps still to be joined.
struct JoinedContents {
    var field: FieldContents
    let left: MapContent
    let right: MapContent
}

extension EncodedEntry {
    /// Returns the content of this field in one operand.
    func content(_ side: JoinSide, isComplete: Bool) throws(Malformed) -> FieldSide {
        var field = FieldSide(side, isComplete: isComplete)
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
                    field.map = MapContent(object: nil, isComplete: true)
                }
            case .map, .bareMap:
                let object = try entry.object()
                field.map = MapContent(object: object, isComplete: !object.isPartial)
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
    /// Returns the content of a field in one operand; the field may be absent.
    func content(
        of entry: EncodedEntry?, _ side: JoinSide, isComplete: Bool
    ) throws(Malformed) -> FieldSide {
        guard let entry else { return FieldSide(side, isComplete: isComplete) }
        return try entry.content(side, isComplete: isComplete)
    }

    /// Returns the dots that remain after joining two operands of a field.
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
            if let matchingDot = right.matchingDot(of: dot),
                try matchingDot.isGreater(than: dot, names)
            {
                field.dots.append(matchingDot)
            } else {
                field.dots.append(dot)
            }
        }
        for dot in right.dots
        where !isOverridden(dot) && !left.hasSeenGo(dot) && left.matchingDot(of: dot) == nil {
            field.dots.append(dot)
        }
        return JoinedContents(field: field, left: left.map, right: right.map)
    }
}
