import SheafBytes

/// The fields of an object, with unique names in the order of their UTF-8 bytes.
///
/// Names are compared byte by byte, without regard to Unicode equivalence.
public struct Object: Sendable {
    /// A name and its value.
    public struct Field: Sendable {
        /// The name, which is unique in its object.
        public let name: String
        /// The value, which may be null.
        public var value: Value

        /// Creates a field, which is in no object yet.
        public init(_ name: String, _ value: Value) {
            self.name = name
            self.value = value
        }
    }

    /// Maximum number of fields for a linear search.
    private static let maximumLinearCount = 8

    private var fields: [Field]

    /// Creates an object without fields.
    public init() {
        fields = []
    }

    /// Creates an object; of duplicate names the last one wins.
    public init(_ elements: some Sequence<(String, Value)>) {
        self.init(sorting: elements.map { Field($0.0, $0.1) })
    }

    /// Creates an object from unsorted fields; of duplicate names the last one wins.
    package init(sorting unsorted: [Field]) {
        fields = unsorted
        guard !isStrictlySorted else { return }
        // The sort is stable, so the last of equal names wins.
        FieldSorter.sort(&fields)
        guard !isStrictlySorted else { return }
        var kept: [Field] = []
        kept.reserveCapacity(fields.count)
        for field in fields {
            if let last = kept.last, UTF8Order.compare(last.name, field.name) == 0 {
                kept[kept.count - 1] = field
            } else {
                kept.append(field)
            }
        }
        fields = kept
    }

    private var isStrictlySorted: Bool {
        for index in fields.indices.dropFirst()
        where UTF8Order.compare(fields[index - 1].name, fields[index].name) >= 0 {
            return false
        }
        return true
    }

    /// The value of a field; assigning nil removes the field.
    public subscript(name: String) -> Value? {
        get {
            index(of: name).map { fields[$0].value }
        }
        set {
            let index = position(of: name)
            let isPresent = index < fields.count && UTF8Order.compare(fields[index].name, name) == 0
            switch (newValue, isPresent) {
            case (let value?, true): fields[index].value = value
            case (let value?, false): fields.insert(Field(name, value), at: index)
            case (nil, true): fields.remove(at: index)
            case (nil, false): break
            }
        }
    }

    /// Calls `body` with the fields in order, without reference counting for each of them.
    @inline(__always)
    func withFields<Result, Failure: Error>(
        _ body: (UnsafeBufferPointer<Field>) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try fields.withUnsafeBufferPointer(body)
    }

    /// Whether a name is the first one in order.
    func hasFirstName(_ name: String) -> Bool {
        withFields { !$0.isEmpty && UTF8Order.compare($0[0].name, name) == 0 }
    }

    /// Returns the index of a field; nil if there is none.
    func index(of name: String) -> Int? {
        if fields.count <= Self.maximumLinearCount {
            let length = name.utf8.count
            return fields.firstIndex {
                $0.name.utf8.count == length && UTF8Order.compare($0.name, name) == 0
            }
        }
        // The `_id` of a document is often the first name.
        if hasFirstName(name) { return 0 }
        let index = position(of: name)
        guard index < fields.count, UTF8Order.compare(fields[index].name, name) == 0 else {
            return nil
        }
        return index
    }

    /// Returns the index of the first field with a name not less than `name`.
    private func position(of name: String) -> Int {
        var lower = 0
        var upper = fields.count
        while lower < upper {
            let middle = (lower + upper) / 2
            if UTF8Order.compare(fields[middle].name, name) < 0 {
                lower = middle + 1
            } else {
                upper = middle
            }
        }
        return lower
    }
}

extension Object: ExpressibleByDictionaryLiteral {
    /// Creates an object; of duplicate names the last one wins.
    public init(dictionaryLiteral elements: (String, Value)...) {
        self.init(elements)
    }
}

extension Object: RandomAccessCollection {
    /// The position of the first field, which is 0.
    public var startIndex: Int { 0 }
    /// The position after the last field, which is the number of fields.
    public var endIndex: Int { fields.count }
    /// The field at a position in the order of names.
    public subscript(index: Int) -> Field { fields[index] }
}

/// The order of texts by their UTF-8 bytes.
///
/// The order of `String` follows Unicode equivalence, which depends on the Unicode version.
package enum UTF8Order {
    /// Returns a negative number if `left` is less, and zero if both have the same bytes.
    package static func compare(_ left: String, _ right: String) -> Int {
        // Native strings are contiguous; bridged ones may not be.
        let result = left.utf8.withContiguousStorageIfAvailable { left in
            right.utf8.withContiguousStorageIfAvailable { right in
                compare(UnsafeRawBufferPointer(left), UnsafeRawBufferPointer(right))
            }
        }
        if let result, let result { return result }
        return Array(left.utf8).withUnsafeBytes { left in
            Array(right.utf8).withUnsafeBytes { compare(left, $0) }
        }
    }

    /// Returns a negative number if `left` is less, and zero if both are equal.
    package static func compare(
        _ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer
    ) -> Int {
        let common = min(left.count, right.count)
        var index = 0
        while index + 8 <= common {
            let a = UInt64(bigEndian: left.loadUnaligned(fromByteOffset: index, as: UInt64.self))
            let b = UInt64(bigEndian: right.loadUnaligned(fromByteOffset: index, as: UInt64.self))
            if a != b { return a < b ? -1 : 1 }
            index += 8
        }
        while index < common {
            if left[index] != right[index] { return left[index] < right[index] ? -1 : 1 }
            index += 1
        }
        return left.count - right.count
    }
}

extension String {
    /// Calls `body` with the UTF-8 bytes of the text, copied only for bridged strings.
    @inline(__always)
    func withRawUTF8<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        if let result = utf8.withContiguousStorageIfAvailable({ body(UnsafeRawBufferPointer($0)) })
        {
            return result
        }
        return Array(utf8).withUnsafeBytes(body)
    }
}
