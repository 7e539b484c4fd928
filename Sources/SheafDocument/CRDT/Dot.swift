import SheafBytes

/// A single write at a field, which later writes may remove.
struct Dot {
    enum Kind: UInt8 {
        case value, token, mark, restart, sum, olderSum

        var part: Part {
            switch self {
            case .value: .register
            case .token: .attachment
            case .mark: .map
            case .restart, .sum: .counter
            case .olderSum: .olderCounter
            }
        }

        var isSum: Bool { self == .sum || self == .olderSum }
        var isCounted: Bool { isSum || self == .restart }

        init?(_ tag: Tag) {
            switch tag {
            case .token: self = .token
            case .map, .mark: self = .mark
            case .restart: self = .restart
            case .sum: self = .sum
            case .olderSum: self = .olderSum
            case .bareMap, .several, .overrides, .empty, .noRoot: return nil
            default: self = .value
            }
        }
    }

    /// The content of a dot.
    enum Content {
        /// A mark has no content.
        case none
        /// An entry with a tag from 1 to 12, with any tag bits.
        case encoded(EncodedEntry)
        case value(Value)
    }

    /// The identity of a dot, unique within its field.
    struct Identity: Hashable {
        let kind: Kind
        let stamp: Stamp
    }

    var identity: Identity { Identity(kind: kind, stamp: stamp) }

    let kind: Kind
    let stamp: Stamp
    /// The epoch of a sum: the stamp of the restart it counts from.
    var epoch = Stamp.initial
    let content: Content

    /// Decodes an entry that is a dot.
    init(
        _ entry: EncodedEntry, _ kind: Kind, _ stamps: some StampSource, root: Stamp?
    ) throws(Malformed) {
        self.kind = kind
        stamp = try entry.stamp(stamps, root: root)
        switch kind {
        case .value: content = .encoded(entry)
        case .mark: content = .none
        case .token, .restart, .olderSum: content = .encoded(try entry.inner())
        case .sum:
            epoch = try stamps.stamp(try entry.epochReference())
            content = .encoded(try entry.inner(skipping: entry.referenceWidth))
        }
    }

    package init(_ kind: Kind, _ stamp: Stamp, epoch: Stamp = .initial, _ content: Content = .none)
    {
        self.kind = kind
        self.stamp = stamp
        self.epoch = epoch
        self.content = content
    }

    /// The epoch of a counter dot: the stamp of its restart.
    var countsFrom: Stamp { kind == .restart ? stamp : epoch }

    /// Returns the content as a value; nil for a mark.
    func value(_ names: NameTable) throws(Malformed) -> Value? {
        switch content {
        case .none: nil
        case .encoded(let entry): try entry.plainValue(names)
        case .value(let value): value
        }
    }

    /// Whether this dot wins over another one with the same stamp and kind.
    func isGreater(than other: Dot, _ names: NameTable) throws(Malformed) -> Bool {
        if epoch != other.epoch { return epoch > other.epoch }
        guard let left = try value(names), let right = try other.value(names) else { return true }
        let (leftKey, rightKey) = (SortKey.bytes(of: left), SortKey.bytes(of: right))
        if leftKey != rightKey { return rightKey.lexicographicallyPrecedes(leftKey) }
        // Only NaN has several encodings with the same key.
        return EntryWriter.bytes(of: right).lexicographicallyPrecedes(EntryWriter.bytes(of: left))
    }
}

extension SortKey {
    /// Returns the key of one value with its trailer, which distinguishes the types of numbers.
    static func bytes(of value: Value) -> [UInt8] {
        var writer = SortKeyWriter()
        writer.append(value)
        return writer.bytes
    }
}

extension EntryWriter {
    /// Returns the encoding of a value with all names spelled out.
    package static func bytes(of value: Value) -> [UInt8] {
        var writer = EntryWriter(
            stamps: StampTable(VersionVector()), referenceWidth: 1, capacity: 16)
        writer.write(value, NameTable())
        let bytes = Array(writer.bytes)
        withExtendedLifetime(writer) {}
        return bytes
    }

    /// Writes a dot as one entry.
    mutating func write(_ dot: Dot, _ names: NameTable) throws(Malformed) {
        switch dot.kind {
        case .value:
            switch dot.content {
            case .none: preconditionFailure("Only marks have no content.")
            case .value(let value): write(value, at: dot.stamp, names)
            case .encoded(let entry):
                write(try entry.tag(), at: dot.stamp)
                write(try entry.payloadBytes())
            }
        case .mark: write(.mark, at: dot.stamp)
        case .token: try write(.token, dot, names)
        case .restart: try write(.restart, dot, names)
        case .sum: try write(.sum, dot, names)
        case .olderSum: try write(.olderSum, dot, names)
        }
    }

    private mutating func write(_ tag: Tag, _ dot: Dot, _ names: NameTable) throws(Malformed) {
        write(tag, at: dot.stamp)
        if tag == .sum { writeReference(to: dot.epoch) }
        switch dot.content {
        case .none: preconditionFailure("Only marks have no content.")
        case .value(let value): write(value, names)
        case .encoded(let entry):
            write(try entry.tag())
            write(try entry.payloadBytes())
        }
    }
}
