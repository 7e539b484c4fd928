/// The type of an entry (`format-spec/documents.md`, table 2).
enum Tag: UInt8 {
    case null = 1
    case no = 2
    case yes = 3
    case integer8 = 4
    case integer16 = 5
    case integer32 = 6
    case integer64 = 7
    case float = 8
    case string = 9
    case bytes = 10
    case array = 11
    case object = 12
    case token = 13
    /// A map with its latest mark.
    case map = 14
    /// A map without a mark, which exists only while it has content.
    case bareMap = 15
    case mark = 16
    case restart = 17
    case sum = 18
    case olderSum = 19
    case several = 20
    case overrides = 21
    /// Parts that a delta names and that have no content.
    case empty = 22
    case noRoot = 23

    /// Tag bit of entries with a reference to a stamp after the tag.
    static let referenceBit: UInt8 = 0x80

    /// Whether an entry with this tag is a value, with or without a stamp.
    @inline(__always)
    var isValue: Bool { rawValue <= Tag.object.rawValue }

    /// Whether an entry with this tag has a stamp.
    var hasStamp: Bool {
        rawValue <= Tag.olderSum.rawValue && self != .bareMap
    }

    /// The part of a field that an entry with this tag belongs to.
    var part: Part? {
        switch self {
        case .token: .attachment
        case .map, .bareMap, .mark: .map
        case .restart, .sum: .counter
        case .olderSum: .olderCounter
        case .several, .overrides, .empty, .noRoot: nil
        default: .register
        }
    }
}

/// Bits of the last byte of objects and arrays (`format-spec/documents.md`, tables 3 and 4).
enum ShapeBits {
    static let endWidth: UInt8 = 0b0000_0011
    static let wideNames: UInt8 = 0b0000_0100
    static let spelled: UInt8 = 0b0000_1000
    static let wideCounts: UInt8 = 0b0001_0000
    static let partial: UInt8 = 0b0010_0000
    static let references: UInt8 = 0b0100_0000
    static let unknown: UInt8 = 0b1000_0000
}

/// Bits of the first byte of a document (`format-spec/documents.md`, table 1).
enum HeaderBits {
    static let partial: UInt8 = 0b0000_0001
    static let base: UInt8 = 0b0000_0010
    static let deletion: UInt8 = 0b0000_0100
    static let wideNumbers: UInt8 = 0b0000_1000
    static let referenceWidth: UInt8 = 0b0011_0000
    static let unknown: UInt8 = 0b1100_0000
}
