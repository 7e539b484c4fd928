import SheafBytes

/// A cursor over the fields of a map in encoding order: by name number, then by spelling.
///
/// A name that is spelled out in an older document may have a number now; its field is sorted by
/// that number.
struct FieldCursor {
    private let object: EncodedObject?
    private let count: Int
    /// Fields sorted by name number; nil if they are already in order.
    private let order: [(number: UInt32, index: Int)]?
    private var position = 0
    /// Name number of the next field; `Int.max` at the end.
    private(set) var number = 0

    private static let end = Int.max
    private static let noNumber = Int(FieldName.noNumber)

    init(_ object: EncodedObject?, _ names: borrowing NameTable) throws(Malformed) {
        self.object = object
        count = object?.count ?? 0
        if let object, object.count > object.numberedCount, names.count > 0 {
            order = try Self.order(object, names)
        } else {
            order = nil
        }
        number = nextNumber
    }

    private static func order(
        _ object: EncodedObject, _ names: borrowing NameTable
    ) throws(Malformed) -> [(number: UInt32, index: Int)]? {
        var order: [(number: UInt32, index: Int)] = []
        var hasChanged = false
        for index in 0..<object.count {
            guard index >= object.numberedCount else {
                order.append((object.nameNumber(index), index))
                continue
            }
            let number = names.number(of: try object.spellingBytes(index))
            if number != nil { hasChanged = true }
            order.append((number.map(UInt32.init) ?? FieldName.noNumber, index))
        }
        guard hasChanged else { return nil }
        // The sort is stable, and spelled-out names are already in order.
        order.sort { $0.number < $1.number }
        return order
    }

    /// Whether no fields remain.
    var isAtEnd: Bool { number == Self.end }

    /// Index of the next field in the map; undefined at the end.
    @inline(__always)
    var index: Int {
        guard let order else { return position }
        return order[position].index
    }

    @inline(__always)
    mutating func advance() {
        position &+= 1
        number = nextNumber
    }

    @inline(__always)
    private var nextNumber: Int {
        guard position < count, let object else { return Self.end }
        if let order { return Int(order[position].number) }
        return position < object.numberedCount
            ? Int(object.nameNumber(position)) : Self.noNumber
    }

    /// Compares the next fields: negative if this cursor's is first; nil if both are at the end.
    @inline(__always)
    func compare(_ other: borrowing FieldCursor) throws(Malformed) -> Int? {
        if number != other.number { return number < other.number ? -1 : 1 }
        if number < Self.noNumber { return 0 }
        guard number == Self.noNumber, let object, let otherObject = other.object else {
            return nil
        }
        return UTF8Order.compare(
            try object.spellingBytes(index), try otherObject.spellingBytes(other.index))
    }

    /// Begins the next field in `writer`; returns its entry.
    @inline(__always)
    func beginField(in writer: inout EntryWriter) throws(Malformed) -> EncodedEntry? {
        guard let object else { return nil }
        let index = index
        if number < Self.noNumber {
            writer.beginField(number: UInt32(truncatingIfNeeded: number))
        } else {
            writer.beginField(spelling: try object.spellingBytes(index))
        }
        return try object.entry(index)
    }

    /// Copies plain fields with name numbers below `limit`; returns false if none could be copied.
    @inline(__always)
    mutating func copyPlain(
        below limit: Int, into writer: inout EntryWriter
    ) throws(Malformed) -> Bool {
        guard let object, order == nil else { return false }
        let count = try writer.copyPlainFields(position, of: object, below: limit)
        position += count
        number = nextNumber
        return count > 0
    }

    /// Returns the entry of the next field.
    func entry() throws(Malformed) -> EncodedEntry? { try object?.entry(index) }
}
