import SheafBytes

/// The fields of an object: each name once, in the order of their UTF-8 bytes.
///
/// Names are compared byte by byte: two that look the same and are spelled differently are two.
public struct Object: Sendable {
    /// A name and its value.
    public struct Field: Sendable {
        public let name: String
        public var value: Value

        public init(_ name: String, _ value: Value) {
            self.name = name
            self.value = value
        }
    }

    private var fields: [Field]

    /// An object without fields.
    public init() {
        fields = []
    }

    /// Of two fields with one name the later stays.
    public init(_ elements: some Sequence<(String, Value)>) {
        self.init(sorting: elements.map { Field($0.0, $0.1) })
    }

    /// Sorts fields, which may be in any order; of two with one name the later stays.
    package init(sorting unsorted: [Field]) {
        fields = unsorted
        guard !isStrictlySorted else { return }
        // The sort of the standard library is stable, so the last of equal names is the latest.
        fields.sort { UTF8Order.compare($0.name, $1.name) < 0 }
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

    /// The value of a field; to set nil removes the field.
    public subscript(name: String) -> Value? {
        get {
            place(of: name).map { fields[$0].value }
        }
        set {
            let index = position(of: name)
            let isThere = index < fields.count && UTF8Order.compare(fields[index].name, name) == 0
            switch (newValue, isThere) {
            case (let value?, true): fields[index].value = value
            case (let value?, false): fields.insert(Field(name, value), at: index)
            case (nil, true): fields.remove(at: index)
            case (nil, false): break
            }
        }
    }

    /// Lends the fields in their order: to go over them by themselves would count references of each.
    @inline(__always)
    func withFields<Result, Failure: Error>(
        _ body: (UnsafeBufferPointer<Field>) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try fields.withUnsafeBufferPointer(body)
    }

    /// Where a field is; nil where there is none of this name.
    func place(of name: String) -> Int? {
        let index = position(of: name)
        guard index < fields.count, UTF8Order.compare(fields[index].name, name) == 0 else {
            return nil
        }
        return index
    }

    /// Where the first field is whose name does not come before `name`.
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
    /// Of two fields with one name the later stays.
    public init(dictionaryLiteral elements: (String, Value)...) {
        self.init(elements)
    }
}

extension Object: RandomAccessCollection {
    public var startIndex: Int { 0 }
    public var endIndex: Int { fields.count }
    public subscript(index: Int) -> Field { fields[index] }
}

/// The order of texts by their UTF-8 bytes.
///
/// `String` compares what texts mean, by tables that change with the version of Unicode.
package enum UTF8Order {
    /// Negative where `left` comes first, zero where both have the same bytes.
    package static func compare(_ left: String, _ right: String) -> Int {
        // Strings of the standard library lie in one piece; bridged ones may not.
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

    /// Negative where `left` comes first, zero where both are the same.
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
    /// Lends the bytes of the text, which lie in one piece but for bridged ones.
    @inline(__always)
    func withRawUTF8<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        if let result = utf8.withContiguousStorageIfAvailable({ body(UnsafeRawBufferPointer($0)) })
        {
            return result
        }
        return Array(utf8).withUnsafeBytes(body)
    }
}
