import SheafBytes

/// The pending changes of a field.
final class FieldDraft {
    /// The spelling of a field name.
    struct Name: Hashable {
        let bytes: [UInt8]

        func hash(into hasher: inout Hasher) {
            bytes.withUnsafeBytes { hasher.combine(bytes: $0) }
        }

        func fieldName(_ source: DraftSource?) -> FieldName {
            FieldName(spelling: bytes, in: source?.names ?? NameTable())
        }
    }

    let name: Name
    private let existing: EncodedEntry?
    private let source: DraftSource?
    /// Parts, except the map, that the delta names.
    private var named: PartSet = []
    private var dots: [Dot] = []
    private var overrides: PartSet = []
    private var map: MapDraft?
    /// Whether the map is new, or replaces the existing one.
    private var isMapNew = false

    package init(_ name: Name, _ existing: EncodedEntry?, _ source: DraftSource?, isComplete: Bool)
    {
        self.name = name
        self.existing = existing
        self.source = source
        if isComplete { named = [.register, .attachment, .counter, .olderCounter] }
        isMapNew = isComplete
    }

    /// Whether the delta has content for the field.
    var isTouched: Bool {
        !dots.isEmpty || !overrides.isEmpty || map?.isTouched == true
            || !isMapNew && !named.isEmpty
    }

    /// Returns the current dots of a part.
    private func dots(of part: Part) throws(Malformed) -> [Dot] {
        if named.contains(part) { return dots.filter { $0.kind.part == part } }
        guard let existing, let source else { return [] }
        return try existing.dots(source).filter { $0.kind.part == part }
    }

    /// Replaces the dots of a part; marks its seeds as overridden if they are removed.
    private func replaceDots(_ part: Part, _ newDots: [Dot], were previous: [Dot]) {
        if previous.contains(where: { $0.stamp == .initial }),
            !newDots.contains(where: { $0.stamp == .initial })
        {
            overrides.insert(PartSet(part))
        }
        named.insert(PartSet(part))
        dots.removeAll { $0.kind.part == part }
        dots += newDots
    }

    // MARK: Edits

    /// Replaces all dots of a part.
    func replace(_ part: Part, with dot: Dot) throws(Malformed) {
        replaceDots(part, [dot], were: try dots(of: part))
    }

    /// Sets an attachment token, or merges an object into the map.
    func set(_ object: Object, at stamp: Stamp) throws(Malformed) {
        guard !object.isAttachmentToken else {
            return try replace(.attachment, with: Dot(.token, stamp, .value(.object(object))))
        }
        try merge(object, at: stamp)
    }

    /// Creates the map if necessary, and merges an object into it.
    func merge(_ object: Object, at stamp: Stamp) throws(Malformed) {
        guard let map = try openMap(creating: true) else { return }
        try map.mark(at: stamp)
        try map.merge(object, at: stamp)
    }

    func increment(by amount: Number, at stamp: Stamp) throws(Malformed) {
        let previous = try dots(of: .counter)
        let epoch = previous.map(\.countsFrom).max() ?? .initial
        let current = previous.filter { $0.countsFrom == epoch }
        func isOwn(_ dot: Dot) -> Bool { dot.kind == .sum && dot.stamp.site == stamp.site }
        let sum = try sum(of: current.filter(isOwn), and: amount)
        let others = current.filter { !isOwn($0) }
        replaceDots(
            .counter, others + [Dot(.sum, stamp, epoch: epoch, .value(sum.value))], were: previous)
    }

    func restart(with number: Number, at stamp: Stamp) throws(Malformed) {
        try replace(.counter, with: Dot(.restart, stamp, .value(number.value)))
    }

    func incrementOlder(by amount: Number, at stamp: Stamp) throws(Malformed) {
        let previous = try dots(of: .olderCounter)
        let own = previous.filter { $0.stamp.site == stamp.site }
        let others = previous.filter { $0.stamp.site != stamp.site }
        let sum = try sum(of: own, and: amount)
        replaceDots(
            .olderCounter, others + [Dot(.olderSum, stamp, .value(sum.value))], were: previous)
    }

    private func sum(of dots: [Dot], and amount: Number) throws(Malformed) -> Number {
        var numbers = [amount]
        for dot in dots {
            if let value = try dot.value(NameTable()), let number = Number(value) {
                numbers.append(number)
            }
        }
        return Number.sum(numbers)
    }

    func unset(_ parts: PartSet) throws(Malformed) {
        for part in Part.allCases where parts.contains(part) && part != .map {
            let previous = try dots(of: part)
            if !previous.isEmpty { replaceDots(part, [], were: previous) }
        }
        guard parts.contains(.map), let map = try openMap(creating: false),
            try map.containsDots()
        else { return }
        if try map.containsSeeds() { overrides.insert(.map) }
        let empty = MapDraft()
        empty.isComplete = true
        self.map = empty
    }

    /// Returns the map of the field; nil if there is none and `creating` is false.
    func openMap(creating: Bool) throws(Malformed) -> MapDraft? {
        if let map { return map }
        guard let existing, let source, !isMapNew else {
            guard creating else { return nil }
            let map = MapDraft()
            map.isComplete = isMapNew
            self.map = map
            return map
        }
        let (object, marks) = try existing.map(source)
        guard creating || object != nil else { return nil }
        let map = MapDraft(object, marks: marks, source)
        self.map = map
        return map
    }

    // MARK: Existing content

    func containsDots() throws(Malformed) -> Bool {
        for part in Part.allCases where part != .map {
            if try !dots(of: part).isEmpty { return true }
        }
        return try openMap(creating: false)?.containsDots() ?? false
    }

    func containsSeeds() throws(Malformed) -> Bool {
        for part in Part.allCases where part != .map {
            if try dots(of: part).contains(where: { $0.stamp == .initial }) { return true }
        }
        return try openMap(creating: false)?.containsSeeds() ?? false
    }

    // MARK: Writing

    /// Writes the pending changes; returns false if there are none.
    func write(
        into writer: inout EntryWriter, _ names: NameTable, isPartial: Bool, depth: Int
    ) throws(Malformed) -> Bool {
        var contents = FieldContents()
        contents.dots = dots
        contents.overrides = overrides
        contents.named = isPartial ? named : []
        if let map, map.isTouched {
            contents.hasMap = true
            if map.namesMarks { contents.dots += map.marks }
            if isPartial, map.isComplete { contents.named.insert(.map) }
        }
        return try contents.write(into: &writer, names, depth: depth) {
            (writer) throws(Malformed) in
            try map?.writeFields(into: &writer, names, depth: depth + 1) ?? 0
        }
    }
}

extension EncodedEntry {
    /// Returns the dots of all parts except the map.
    func dots(_ source: DraftSource) throws(Malformed) -> [Dot] {
        var dots: [Dot] = []
        try forEachEntry { (entry) throws(Malformed) in
            guard let kind = Dot.Kind(try entry.tag()), kind != .mark else { return }
            dots.append(try Dot(entry, kind, source.header, root: source.root))
        }
        return dots
    }

    /// Returns the map of a field, and its marks.
    func map(_ source: DraftSource) throws(Malformed) -> (EncodedObject?, [Dot]) {
        var object: EncodedObject?
        var marks: [Dot] = []
        try forEachEntry { (entry) throws(Malformed) in
            let tag = try entry.tag()
            if tag == .map || tag == .bareMap { object = try entry.object() }
            guard Dot.Kind(tag) == .mark else { return }
            marks.append(try Dot(entry, .mark, source.header, root: source.root))
        }
        return (object, marks)
    }

    /// Whether the entry or its content has a dot.
    func containsDots(_ source: DraftSource, depth: Int = 1) throws(Malformed) -> Bool {
        try contains(depth: depth) { _ in true }
    }

    /// Whether the entry or its content has a seed, written by INSERT INITIAL.
    func containsSeeds(_ source: DraftSource, depth: Int = 1) throws(Malformed) -> Bool {
        try contains(depth: depth) { (entry) throws(Malformed) in
            try entry.stamp(source.header, root: source.root) == .initial
        }
    }

    private func contains(
        depth: Int, _ predicate: (EncodedEntry) throws(Malformed) -> Bool
    ) throws(Malformed) -> Bool {
        guard depth <= Value.maximumDepth else {
            throw .tooDeep(at: start, limit: Value.maximumDepth)
        }
        var isFound = false
        try forEachEntry { (entry) throws(Malformed) in
            let tag = try entry.tag()
            if isFound { return }
            if tag.hasStamp { isFound = try predicate(entry) }
            guard !isFound, tag == .map || tag == .bareMap else { return }
            let object = try entry.object()
            for index in 0..<object.count where !isFound {
                isFound = try object.entry(index).contains(depth: depth + 1, predicate)
            }
        }
        return isFound
    }
}
