import SheafBytes

/// Walks the fields of a map in the order in which they are written: by number, then by spelling.
///
/// What an older document spells may have a number by now, and then stands with the numbered ones.
struct FieldCursor {
    private let object: EncodedObject?
    private let count: Int
    /// The fields in order with the numbers of their names, where that is not how they stand.
    private var order: [(number: UInt32, index: Int)]?
    private var position = 0

    init(_ object: EncodedObject?, _ names: NameTable) throws(Malformed) {
        self.object = object
        count = object?.count ?? 0
        guard let object, object.count > object.numberedCount, names.count > 0 else { return }
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
        guard hasChanged else { return }
        // The sort is stable, and spelled names are in order already.
        order.sort { $0.number < $1.number }
        self.order = order
    }

    /// The field that is next.
    @inline(__always)
    var index: Int? {
        guard position < count else { return nil }
        return order.map { $0[position].index } ?? position
    }

    mutating func advance() {
        position += 1
    }

    @inline(__always)
    private var number: UInt32 {
        guard let object else { return FieldName.noNumber }
        if let order { return order[position].number }
        return position < object.numberedCount
            ? object.nameNumber(position) : FieldName.noNumber
    }

    /// Which of two comes first: negative if this one does; nil at the end of both.
    @inline(__always)
    func compare(_ other: FieldCursor) throws(Malformed) -> Int? {
        guard let index else { return other.index == nil ? nil : 1 }
        guard let otherIndex = other.index else { return -1 }
        let (mine, theirs) = (number, other.number)
        if mine != theirs { return mine < theirs ? -1 : 1 }
        guard mine == FieldName.noNumber, let object, let otherObject = other.object else {
            return 0
        }
        return UTF8Order.compare(
            try object.spellingBytes(index), try otherObject.spellingBytes(otherIndex))
    }

    /// Begins the field in a document that is being written.
    @inline(__always)
    func beginField(_ index: Int, in writer: inout EntryWriter) throws(Malformed) {
        guard let object else { return }
        let number = number
        if number != FieldName.noNumber {
            writer.beginField(number: number)
        } else {
            writer.beginField(spelling: try object.spellingBytes(index))
        }
    }
}
