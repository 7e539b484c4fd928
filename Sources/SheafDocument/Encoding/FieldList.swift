/// The fields of all objects that a writer has open, the innermost last.
struct FieldList: ~Copyable {
    /// A field of an object that is open.
    struct Field: BitwiseCopyable {
        /// The number of its name, or `FieldName.noNumber` where the name is spelled.
        let number: UInt32
        let start: Int
        var end: Int
    }

    private var fields: UnsafeMutablePointer<Field>
    private var capacity = 32
    private(set) var count = 0

    init() {
        fields = .allocate(capacity: capacity)
    }

    deinit { fields.deallocate() }

    @inline(__always)
    subscript(index: Int) -> Field {
        get {
            precondition(index >= 0 && index < count, "A field is among those that are open.")
            return fields[index]
        }
        set {
            precondition(index >= 0 && index < count, "A field is among those that are open.")
            fields[index] = newValue
        }
    }

    @inline(__always)
    mutating func append(_ field: Field) {
        if count == capacity { grow() }
        appendReserved(field)
    }

    /// Appends a field that there is room for.
    @inline(__always)
    mutating func appendReserved(_ field: Field) {
        assert(count < capacity, "Room was made before.")
        (fields + count).initialize(to: field)
        count &+= 1
    }

    /// Makes room for some fields more.
    @inline(__always)
    mutating func reserve(_ room: Int) {
        while capacity &- count < room { grow() }
    }

    /// Some of the fields; to be used before there are more.
    @inline(__always)
    func slice(_ range: Range<Int>) -> UnsafeMutableBufferPointer<Field> {
        precondition(
            range.lowerBound >= 0 && range.upperBound <= count, "A slice has fields that are open.")
        return UnsafeMutableBufferPointer(start: fields + range.lowerBound, count: range.count)
    }

    /// Says where the last field ends.
    @inline(__always)
    mutating func endLast(at end: Int) {
        precondition(count > 0, "A field that ends has begun.")
        fields[count &- 1].end = end
    }

    mutating func removeLast(_ number: Int) {
        precondition(number <= count, "Only fields that are open can be closed.")
        count -= number
    }

    @inline(never)
    private mutating func grow() {
        let larger = UnsafeMutablePointer<Field>.allocate(capacity: capacity * 2)
        larger.update(from: fields, count: count)
        fields.deallocate()
        (fields, capacity) = (larger, capacity * 2)
    }
}
