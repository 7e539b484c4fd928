/// The fields of all unfinished objects of a writer, innermost last.
struct FieldList: ~Copyable {
    /// A field of an unfinished object.
    struct Field: BitwiseCopyable {
        /// Name number, or `FieldName.noNumber` for a name that is spelled out.
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
            precondition(index >= 0 && index < count, "The index is that of a pending field.")
            return fields[index]
        }
        set {
            precondition(index >= 0 && index < count, "The index is that of a pending field.")
            fields[index] = newValue
        }
    }

    @inline(__always)
    mutating func append(_ field: Field) {
        if count == capacity { grow() }
        appendReserved(field)
    }

    /// Appends a field within the reserved capacity.
    @inline(__always)
    mutating func appendReserved(_ field: Field) {
        assert(count < capacity, "Capacity was reserved.")
        (fields + count).initialize(to: field)
        count &+= 1
    }

    /// Ensures capacity for `room` further fields.
    @inline(__always)
    mutating func reserve(_ room: Int) {
        while capacity &- count < room { grow() }
    }

    /// Returns a slice of the fields; valid until the next append.
    @inline(__always)
    func slice(_ range: Range<Int>) -> UnsafeMutableBufferPointer<Field> {
        precondition(
            range.lowerBound >= 0 && range.upperBound <= count, "The range covers pending fields.")
        return UnsafeMutableBufferPointer(start: fields + range.lowerBound, count: range.count)
    }

    /// Sets the end of the last field.
    @inline(__always)
    mutating func endLast(at end: Int) {
        precondition(count > 0, "A field was begun.")
        fields[count &- 1].end = end
    }

    mutating func removeLast(_ number: Int) {
        precondition(number <= count, "At most all pending fields are removed.")
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
