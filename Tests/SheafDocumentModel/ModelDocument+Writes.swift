package import SheafDocument

extension ModelDocument {
    /// Applies edits with one stamp, which is recorded only if an edit has an effect.
    package mutating func apply(_ edits: [Edit], stamp: Stamp) {
        var hasChanged = false
        for edit in edits where apply(edit, stamp) { hasChanged = true }
        if hasChanged { record(stamp) }
    }

    /// Drops all dots and records the deletion, even if the document does not exist.
    package mutating func delete(stamp: Stamp) {
        dots = [:]
        deletion = max(deletion ?? stamp, stamp)
        record(stamp)
    }

    /// Adds seeds if the document neither exists nor was deleted.
    package mutating func insertInitial(_ object: Object) {
        guard deletion == nil, !isPresent(.map, at: []) else { return }
        seed(.object(object), at: [])
        record(Insertion.initialStamp(object))
    }

    /// Sets each field of the root, even fields that already have the value.
    package mutating func insert(_ object: Object, stamp: Stamp) {
        apply([.set(path: [], to: .object(object))], stamp: stamp)
    }

    /// Sets only the fields whose visible value differs, recursively in maps.
    ///
    /// An integer differs from an equal float. Fields that are not in `object` are kept.
    package mutating func insertDifferences(_ object: Object, stamp: Stamp) {
        guard isPresent(.map, at: []) else { return insert(object, stamp: stamp) }
        apply(differences(object, at: []), stamp: stamp)
    }

    func differences(_ object: Object, at names: [String]) -> [Edit] {
        object.flatMap { field -> [Edit] in
            let names = names + [field.name]
            let path = Self.path(names)
            let shown = shownPart(at: path)
            if shown == .map, case .object(let inner) = field.value {
                return differences(inner, at: names)
            }
            if let shown, let value = value(of: shown, at: path),
                Self.key(value) == Self.key(field.value)
            {
                return []
            }
            return [.set(path: names, to: field.value)]
        }
    }

    private mutating func record(_ stamp: Stamp) {
        vector[stamp.site] = max(vector[stamp.site] ?? stamp.time, stamp.time)
        normalize()
    }

    private mutating func seed(_ value: Value, at path: Path) {
        guard case .object(let object) = value else {
            dots[DotIdentity(path: path, kind: .value, stamp: .initial)] = Content(value)
            return
        }
        dots[DotIdentity(path: path, kind: .mark, stamp: .initial)] = Content(nil)
        for field in object { seed(field.value, at: path + [Array(field.name.utf8)]) }
    }

    // MARK: Edits

    /// Applies an edit; returns whether dots were dropped or added.
    private mutating func apply(_ edit: Edit, _ stamp: Stamp) -> Bool {
        switch edit {
        case .set(let path, let value, let mode):
            set(Self.path(path), value, mode, stamp)
        case .unset(let path, let parts):
            return unset(Self.path(path), parts)
        case .increment(let path, let amount):
            increment(Self.path(path), amount, stamp)
        case .restart(let path, let number):
            let path = Self.path(path)
            markMaps(above: path, stamp)
            drop { $0.kind.part == .counter && $0.path.isSame(as: path) }
            add(path, .restart, number.value, stamp)
        case .incrementOlder(let path, let amount):
            let path = Self.path(path)
            markMaps(above: path, stamp)
            let own = ownSum(.olderSum, at: path, stamp)
            drop { $0 == own?.dot }
            add(path, .olderSum, Self.sum(own?.content, amount).value, stamp)
        }
        return true
    }

    private mutating func set(
        _ path: Path, _ value: Value, _ mode: Edit.Mode, _ stamp: Stamp
    ) {
        if case .object(let object) = value, case .merging = mode {
            markMaps(above: path, stamp)
            drop { $0.kind == .mark && $0.stamp != .initial && $0.path.isSame(as: path) }
            add(path, .mark, nil, stamp)
            for field in object { set(path + [Array(field.name.utf8)], field.value, mode, stamp) }
            return
        }
        precondition(path != [], "The root is always a map.")
        markMaps(above: path, stamp)
        var kind = Kind.value
        if case .attachment = mode { kind = .token }
        drop { $0.kind == kind && $0.path.isSame(as: path) }
        add(path, kind, value, stamp)
    }

    private mutating func unset(_ path: Path, _ parts: PartSet) -> Bool {
        precondition(path != [], "The root is removed only with its document.")
        return drop { dot in
            guard dot.path.begins(with: path) else { return false }
            return parts.contains(
                dot.path.count == path.count ? PartSet(dot.kind.part) : .map)
        }
    }

    private mutating func increment(_ path: Path, _ amount: Number, _ stamp: Stamp) {
        markMaps(above: path, stamp)
        let epoch = latestEpoch(at: path)
        let own = ownSum(.sum, at: path, stamp)
        let counted = own?.content.epoch == epoch ? own?.content : nil
        let contents = dots
        drop { dot in
            guard dot.path.isSame(as: path) else { return false }
            return dot == own?.dot || dot.kind == .restart && dot.stamp < epoch
                || dot.kind == .sum && (contents[dot]?.epoch ?? epoch) < epoch
        }
        add(path, .sum, Self.sum(counted, amount).value, stamp, epoch: epoch)
    }

    // MARK: Dots

    /// Adds a mark to each unmarked map above a path.
    private mutating func markMaps(above path: Path, _ stamp: Stamp) {
        for depth in path.indices {
            let way = Path(path[..<depth])
            if dots.keys.contains(where: { $0.kind == .mark && $0.path.isSame(as: way) }) {
                continue
            }
            add(way, .mark, nil, stamp)
        }
    }

    private mutating func add(
        _ path: Path, _ kind: Kind, _ value: Value?, _ stamp: Stamp, epoch: Stamp = .initial
    ) {
        dots[DotIdentity(path: path, kind: kind, stamp: stamp)] = Content(value, epoch: epoch)
    }

    /// Drops dots and overrides the parts of dropped seeds; returns whether any dot was dropped.
    @discardableResult
    private mutating func drop(where isDropped: (DotIdentity) -> Bool) -> Bool {
        let dropped = dots.keys.filter(isDropped)
        for dot in dropped {
            dots[dot] = nil
            guard dot.stamp == .initial else { continue }
            overrides.insert(PartKey(path: dot.path, part: dot.kind.part))
        }
        return !dropped.isEmpty
    }

    private func ownSum(
        _ kind: Kind, at path: Path, _ stamp: Stamp
    ) -> (dot: DotIdentity, content: Content)? {
        dots.first {
            $0.key.kind == kind && $0.key.stamp.site == stamp.site && $0.key.path.isSame(as: path)
        }
        .map { (dot: $0.key, content: $0.value) }
    }

    private static func sum(_ counted: Content?, _ amount: Number) -> Number {
        guard let counted = counted?.value.flatMap(Number.init) else { return amount }
        return .sum([counted, amount])
    }
}
