import SheafBytes

/// What one side of a join says of a map.
struct MapContent {
    let object: EncodedObject?
    /// Whether names that are not there are known to be gone; otherwise nothing is said of them.
    let isWhole: Bool
}

/// What one side of a join says of a field.
struct FieldSide {
    var dots: [Dot] = []
    var overrides: PartSet = []
    /// The parts of which all is said.
    var named: PartSet
    /// Whether the marks of the map are among it.
    var namesMarks: Bool
    var map: MapContent
    private let header: EncodedHeader

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

    /// Whether a dot that is not there was known here.
    func hasSeen(_ dot: Dot) -> Bool { names(dot.kind) && header.covers(dot.stamp) }
}

/// Finds the dot of a field that has the same kind and stamp as another one.
///
/// Searches where there are few, and by hash where there are many: each site may have one.
private struct DotIndex {
    private struct Key: Hashable {
        let kind: Dot.Kind
        let stamp: Stamp
    }

    private let dots: [Dot]
    private var positions: [Key: Int] = [:]

    private static let searched = 12

    init(_ dots: [Dot]) {
        self.dots = dots
        guard dots.count > Self.searched else { return }
        positions.reserveCapacity(dots.count)
        for index in dots.indices.reversed() {
            positions[Key(kind: dots[index].kind, stamp: dots[index].stamp)] = index
        }
    }

    func twin(of dot: Dot) -> Dot? {
        guard dots.count > Self.searched else {
            return dots.first { $0.kind == dot.kind && $0.stamp == dot.stamp }
        }
        return positions[Key(kind: dot.kind, stamp: dot.stamp)].map { dots[$0] }
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
            field.dots.append(try Dot(entry, kind, side.header, root: side.source.root))
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
        let (leftIndex, rightIndex) = (DotIndex(left.dots), DotIndex(right.dots))
        for dot in left.dots where !isOverridden(dot) {
            let twin = rightIndex.twin(of: dot)
            if let twin, try twin.isGreater(than: dot, names) {
                field.dots.append(twin)
            } else if twin != nil || !right.hasSeen(dot) {
                field.dots.append(dot)
            }
        }
        for dot in right.dots
        where !isOverridden(dot) && !left.hasSeen(dot) && leftIndex.twin(of: dot) == nil {
            field.dots.append(dot)
        }
        return JoinedContents(field: field, left: left.map, right: right.map)
    }
}
