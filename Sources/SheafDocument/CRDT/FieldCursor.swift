import SheafBytes

/// Walks the fields of a map in the order in which they are written: by number, then by spelling.
///
/// What an older document spells may have a number by now, and then stands with the numbered ones.
struct FieldCursor {
    private let object: EncodedObject?
    private let count: Int
    /// The fields in order with the numbers of their names, where that is not how they stand.
    private let order: [(number: UInt32, index: Int)]?
    private var position = 0
    /// The number of the next field's name; beyond all numbers at the end.
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
        // The sort is stable, and spelled names are in order already.
        order.sort { $0.number < $1.number }
        return order
    }

    /// Whether there is no field left.
    var isAtEnd: Bool { number == Self.end }

    /// Where the next field is in the map; only where there is one.
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

    /// Which of two comes first: negative if this one does; nil at the end of both.
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

    /// Begins the next field in a document that is being written; returns what stands there.
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

    /// Copies the fields with numbers below `limit` as they are, as far as that is possible; false
    /// if it is not even for one.
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

    /// What stands at the next field.
    func entry() throws(Malformed) -> EncodedEntry? { try object?.entry(index) }
}
