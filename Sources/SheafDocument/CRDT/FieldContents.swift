import SheafBytes

/// The content of a field, by part, before it is encoded.
struct FieldContents {
    /// Dots of all parts, including the marks of the map.
    var dots: [Dot] = []
    /// Whether the field has a map, possibly a partial one.
    var hasMap = false
    /// Parts that a delta names; those without content are written as empty.
    var named: PartSet = []
    var overrides: PartSet = []

    /// Writes the content as one or several entries; returns false if there is none.
    ///
    /// - Parameter writeFields: Writes the fields of the map, and returns their number.
    func write(
        into writer: inout EntryWriter, _ names: NameTable, depth: Int,
        writeFields: (inout EntryWriter) throws(Malformed) -> Int
    ) throws(Malformed) -> Bool {
        guard hasMap || dots.contains(where: { $0.kind == .mark }) else {
            return try writeWithoutMap(into: &writer, names)
        }
        let start = writer.count
        let stamps = writer.stamps.olderCount
        let marks = sortedDots(of: .map)
        let hasFields = try writeMap(marks.first, into: &writer, writeFields)
        let isAlone = dots.count == marks.count && marks.count < 2
        if isAlone, hasFields, overrides.isEmpty, named.subtracting(.map).isEmpty { return true }

        // Parts are sorted by their latest dot; that of the map is known only after it is written.
        let bytes = Array(UnsafeRawBufferPointer(rebasing: writer.bytes[start...]))
        let source = CopySource(
            stamps: writer.stamps.memory(behind: stamps), root: writer.rootStamp)
        writer.truncate(to: start)
        writer.stamps.truncate(olderCount: stamps)
        guard hasFields else { return try writeWithoutMap(into: &writer, names) }
        return try bytes.span.withUnsafeBytes { bytes throws(Malformed) in
            guard let base = bytes.baseAddress else { return false }
            let map = EncodedEntry(
                base, 0..<bytes.count, referenceWidth: writer.referenceWidth)
            return try write(map, source, into: &writer, names, depth: depth)
        }
    }

    /// Writes the map; returns false if it has neither fields nor a mark.
    private func writeMap(
        _ mark: Dot?, into writer: inout EntryWriter,
        _ writeFields: (inout EntryWriter) throws(Malformed) -> Int
    ) throws(Malformed) -> Bool {
        if let mark {
            writer.write(.map, at: mark.stamp)
        } else {
            writer.write(.bareMap)
        }
        return try writeFields(&writer) > 0 || mark != nil
    }

    private func writeWithoutMap(
        into writer: inout EntryWriter, _ names: NameTable
    ) throws(Malformed) -> Bool {
        let missing = named.subtracting(presentParts)
        if dots.count == 1, overrides.isEmpty, missing.isEmpty {
            try writer.write(dots[0], names)
            return true
        }
        guard !dots.isEmpty || !overrides.isEmpty || !missing.isEmpty else { return false }
        try writeEntries(nil, into: &writer, names, depth: 1, missing)
        return true
    }

    private func write(
        _ map: EncodedEntry, _ source: CopySource<StampMemory>,
        into writer: inout EntryWriter, _ names: NameTable, depth: Int
    ) throws(Malformed) -> Bool {
        let missing = named.subtracting(presentParts.union(.map))
        try writeEntries((map, source), into: &writer, names, depth: depth, missing)
        return true
    }

    /// Writes the parts in the order of their latest dots, newest first, then the annotations.
    private func writeEntries(
        _ map: (EncodedEntry, CopySource<StampMemory>)?, into writer: inout EntryWriter,
        _ names: NameTable, depth: Int, _ missing: PartSet
    ) throws(Malformed) {
        var parts: [(part: Part, latest: Stamp?)] = []
        for part in Part.allCases {
            var latest = dots.filter { $0.kind.part == part }.map(\.stamp).max()
            if part == .map, let map {
                latest = try map.0.latestStamp(map.1, depth: depth)
            }
            if latest != nil || part == .map && map != nil { parts.append((part, latest)) }
        }
        // The sort is stable: parts with equal stamps keep their order. A map with only annotations
        // comes last.
        parts.sort { left, right in
            guard let leftStamp = left.latest else { return false }
            return right.latest.map { leftStamp > $0 } ?? true
        }
        let noteCount = (missing.isEmpty ? 0 : 1) + (overrides.isEmpty ? 0 : 1)
        let marks = dots.count { $0.kind == .mark }
        let entryCount = dots.count - marks + (map == nil ? 0 : max(marks, 1)) + noteCount
        let isAlone = entryCount == 1
        if !isAlone { writer.write(.several) }
        func write(_ body: (inout EntryWriter) throws(Malformed) -> Void) throws(Malformed) {
            let start = writer.count
            try body(&writer)
            if !isAlone { writer.prependLength(at: start) }
        }
        for (part, _) in parts {
            var dots = sortedDots(of: part)
            if part == .map, let (map, source) = map {
                dots = Array(dots.dropFirst())
                try write { (writer) throws(Malformed) in
                    try writer.copy(map, from: source, depth: depth)
                }
            }
            for dot in dots {
                try write { (writer) throws(Malformed) in try writer.write(dot, names) }
            }
        }
        if !missing.isEmpty { try write { $0.write(.empty, missing) } }
        if !overrides.isEmpty { try write { $0.write(.overrides, overrides) } }
    }

    private var presentParts: PartSet {
        dots.reduce(into: []) { $0.insert(PartSet($1.kind.part)) }
    }

    /// Returns the dots of a part, latest first and restarts before sums.
    private func sortedDots(of part: Part) -> [Dot] {
        dots.filter { $0.kind.part == part }.sorted { left, right in
            left.kind != right.kind
                ? left.kind.rawValue < right.kind.rawValue : left.stamp > right.stamp
        }
    }
}

extension EntryWriter {
    /// Writes the root entry with its marks and fields; `writeFields` returns the number of fields.
    mutating func writeRoot(
        marks: [Dot], isPartial: Bool,
        _ writeFields: (inout EntryWriter) throws(Malformed) -> Int
    ) throws(Malformed) {
        let stamps = marks.map(\.stamp).sorted(by: >)
        try writeRoot(
            mark: stamps.first, others: stamps.dropFirst(), isPartial: isPartial, writeFields)
    }
}
