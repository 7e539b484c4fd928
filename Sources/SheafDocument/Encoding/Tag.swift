/// What an entry is (`format-spec/documents.md`, table 2).
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
    /// A map that is there only because something is in it.
    case bareMap = 15
    case mark = 16
    case restart = 17
    case sum = 18
    case olderSum = 19
    case several = 20
    case overrides = 21
    /// Parts that a delta names and that are not there.
    case empty = 22
    case noRoot = 23

    /// The bit of a tag behind which a reference to a stamp follows.
    static let referenceBit: UInt8 = 0x80

    /// Whether an entry of this kind is a value, alone or as a register.
    @inline(__always)
    var isValue: Bool { rawValue <= Tag.object.rawValue }

    /// Whether an entry of this kind was written by somebody, at some time.
    var hasStamp: Bool {
        rawValue <= Tag.olderSum.rawValue && self != .bareMap
    }

    /// The part of a field that an entry of this kind belongs to.
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

/// The bits of the last byte of objects and arrays (tables 3 and 4).
enum ShapeBits {
    static let endWidth: UInt8 = 0b0000_0011
    static let wideNames: UInt8 = 0b0000_0100
    static let spelled: UInt8 = 0b0000_1000
    static let wideCounts: UInt8 = 0b0001_0000
    static let partial: UInt8 = 0b0010_0000
    static let references: UInt8 = 0b0100_0000
    static let unknown: UInt8 = 0b1000_0000
}

/// The bits of the first byte of a document (table 1).
enum HeaderBits {
    static let partial: UInt8 = 0b0000_0001
    static let base: UInt8 = 0b0000_0010
    static let deletion: UInt8 = 0b0000_0100
    static let wideNumbers: UInt8 = 0b0000_1000
    static let referenceWidth: UInt8 = 0b0011_0000
    static let unknown: UInt8 = 0b1100_0000
}
