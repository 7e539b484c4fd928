package import SheafDocument

extension ModelDocument {
    /// Does what a statement says, with one stamp; where that changes nothing, nothing is noted.
    package mutating func apply(_ edits: [Edit], stamp: Stamp) {
        var hasChanged = false
        for edit in edits where apply(edit, stamp) { hasChanged = true }
        if hasChanged { note(stamp) }
    }

    /// Drops everything, also where there is nothing.
    package mutating func delete(stamp: Stamp) {
        dots = [:]
        deletion = max(deletion ?? stamp, stamp)
        note(stamp)
    }

    /// Adds seeds, where there is no document and never was one.
    package mutating func insertInitial(_ object: Object) {
        guard deletion == nil, !isThere(.map, at: []) else { return }
        seed(.object(object), at: [])
        note(Insertion.initialStamp(object))
    }

    /// Sets each field of the root, also those that have the value already.
    package mutating func insert(_ object: Object, stamp: Stamp) {
        apply([.set(path: [], to: .object(object))], stamp: stamp)
    }

    /// Sets the fields that show another value, within maps those of their fields.
    ///
    /// Values are others also if they are equal and one is a float. What is not in `object` stays.
    package mutating func insertDifferences(_ object: Object, stamp: Stamp) {
        guard isThere(.map, at: []) else { return insert(object, stamp: stamp) }
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

    private mutating func note(_ stamp: Stamp) {
        vector[stamp.site] = max(vector[stamp.site] ?? stamp.time, stamp.time)
        normalize()
    }

    private mutating func seed(_ value: Value, at path: Path) {
        guard case .object(let object) = value else {
            dots[Place(path: path, kind: .value, stamp: .initial)] = Content(value)
            return
        }
        dots[Place(path: path, kind: .mark, stamp: .initial)] = Content(nil)
        for field in object { seed(field.value, at: path + [Array(field.name.utf8)]) }
    }

    // MARK: Edits

    /// Whether anything was dropped or added.
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
            drop { $0.path == path && $0.kind.part == .counter }
            add(path, .restart, number.value, stamp)
        case .incrementOlder(let path, let amount):
            let path = Self.path(path)
            markMaps(above: path, stamp)
            let own = ownSum(.olderSum, at: path, stamp)
            drop { $0 == own?.place }
            add(path, .olderSum, Self.sum(own?.content, amount).value, stamp)
        }
        return true
    }

    private mutating func set(
        _ path: Path, _ value: Value, _ mode: Edit.Mode, _ stamp: Stamp
    ) {
        if case .object(let object) = value, case .merging = mode {
            markMaps(above: path, stamp)
            drop { $0.path == path && $0.kind == .mark && $0.stamp != .initial }
            add(path, .mark, nil, stamp)
            for field in object { set(path + [Array(field.name.utf8)], field.value, mode, stamp) }
            return
        }
        precondition(path != [], "The root is a map and nothing else.")
        markMaps(above: path, stamp)
        var kind = Kind.value
        if case .attachment = mode { kind = .token }
        drop { $0.path == path && $0.kind == kind }
        add(path, kind, value, stamp)
    }

    private mutating func unset(_ path: Path, _ parts: PartSet) -> Bool {
        precondition(path != [], "A root goes with its document.")
        return drop { place in
            if place.path == path { return parts.contains(PartSet(place.kind.part)) }
            return place.path.starts(with: path) && parts.contains(.map)
        }
    }

    private mutating func increment(_ path: Path, _ amount: Number, _ stamp: Stamp) {
        markMaps(above: path, stamp)
        let epoch = latestEpoch(at: path)
        let own = ownSum(.sum, at: path, stamp)
        let counted = own?.content.epoch == epoch ? own?.content : nil
        let contents = dots
        drop { place in
            guard place.path == path else { return false }
            return place == own?.place || place.kind == .restart && place.stamp < epoch
                || place.kind == .sum && (contents[place]?.epoch ?? epoch) < epoch
        }
        add(path, .sum, Self.sum(counted, amount).value, stamp, epoch: epoch)
    }

    // MARK: Dots

    /// Adds a mark to each map on the way that has none.
    private mutating func markMaps(above path: Path, _ stamp: Stamp) {
        for depth in path.indices {
            let way = Path(path[..<depth])
            if dots.keys.contains(where: { $0.path == way && $0.kind == .mark }) { continue }
            add(way, .mark, nil, stamp)
        }
    }

    private mutating func add(
        _ path: Path, _ kind: Kind, _ value: Value?, _ stamp: Stamp, epoch: Stamp = .initial
    ) {
        dots[Place(path: path, kind: kind, stamp: stamp)] = Content(value, epoch: epoch)
    }

    /// Drops dots, overrides the part of each that is a seed, and tells whether there were any.
    @discardableResult
    private mutating func drop(where isDropped: (Place) -> Bool) -> Bool {
        let dropped = dots.keys.filter(isDropped)
        for place in dropped {
            dots[place] = nil
            guard place.stamp == .initial else { continue }
            overrides.insert(PartPlace(path: place.path, part: place.kind.part))
        }
        return !dropped.isEmpty
    }

    private func ownSum(
        _ kind: Kind, at path: Path, _ stamp: Stamp
    ) -> (place: Place, content: Content)? {
        dots.first {
            $0.key.path == path && $0.key.kind == kind && $0.key.stamp.site == stamp.site
        }
        .map { (place: $0.key, content: $0.value) }
    }

    private static func sum(_ counted: Content?, _ amount: Number) -> Number {
        guard let counted = counted?.value.flatMap(Number.init) else { return amount }
        return .sum([counted, amount])
    }
}
