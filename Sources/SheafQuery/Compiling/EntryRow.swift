import SheafBytes
import SheafDocument

/// The content of a row without encoded fields.
class RowContent {
    /// Returns all fields, with the id; throws for an index entry, which lacks some.
    func object() throws(StoreError) -> Object {
        throw StoreError(.failed, "an index entry has no complete document")
    }

    /// Returns the value at a path; nil if there is none.
    func value(at path: [String]) throws(StoreError) -> Value? {
        Operators.value(at: path[...], of: .object(try object()))
    }
}

/// A row without a stored document, or a document that was decoded.
final class ObjectRow: RowContent {
    private let value: Object

    init(_ value: Object) {
        self.value = value
    }

    override func object() -> Object { value }
}

/// The row of an index entry, for statements that read nothing but the indexed fields and the id.
///
/// A scan uses one for all of its entries, and fields are decoded when they are read.
final class EntryRow: RowContent {
    private let fields: [IndexDescription.Field]
    /// Whether each field is descending, followed by false for the id.
    private let isDescending: [Bool]
    private let prefixLength: Int
    private let elements: UnsafeMutablePointer<FieldElement>
    // A run uses the row on one thread.
    @exclusivity(unchecked) private var entry = UnsafeRawBufferPointer(start: nil, count: 0)
    /// The first paths that were read, and the numbers of their fields.
    @exclusivity(unchecked) private var known: [(path: [String], number: Int?)] = []
    /// The id in the entry.
    @exclusivity(unchecked) private(set) var id = UnsafeRawBufferPointer(start: nil, count: 0)

    init(_ index: IndexDescription) {
        fields = index.fields
        isDescending = fields.map(\.isDescending) + [false]
        prefixLength = index.keyPrefix.count
        elements = .allocate(capacity: fields.count)
    }

    deinit {
        elements.deallocate()
    }

    /// Reads the next entry; `key` must remain valid until the next call.
    func read(_ key: UnsafeRawBufferPointer) throws(StoreError) {
        entry = UnsafeRawBufferPointer(rebasing: key.dropFirst(prefixLength))
        let range = try onDocument(at: 0) { () throws(Malformed) in
            try SortKeyReader.readElements(entry, descending: isDescending, into: elements)
        }
        id = UnsafeRawBufferPointer(rebasing: entry[range])
    }

    /// Returns the number of the indexed field at a path; nil if the entry has no such field.
    func number(of path: [String]) -> Int? { fields.firstIndex { $0.path.isSpelled(path) } }

    /// Returns the same as `number(of:)`, and remembers it by the address of the path.
    private func knownNumber(of path: [String]) -> Int? {
        // `known` retains its paths, so no other path can have the address of one.
        for index in known.indices where known[index].path.isStored(like: path) {
            return known[index].number
        }
        let number = number(of: path)
        if known.count < fields.count { known.append((path, number)) }
        return number
    }

    /// Returns the number of the indexed field that is a part of the id; nil if there is none.
    func number(of path: IDPath) -> Int? {
        fields.firstIndex { field in
            field.path.count > 1 && field.path[0].isSpelled(Row.idName)
                && IDPath(Array(field.path.dropFirst())) == path
        }
    }

    /// Returns the element of an indexed field.
    @inline(__always)
    func element(_ number: Int) -> FieldElement { elements[number] }

    override func value(at path: [String]) throws(StoreError) -> Value? {
        guard let number = knownNumber(of: path) else { return try super.value(at: path) }
        let element = elements[number]
        guard element.kind != .other else { return try values()[number] }
        return try onDocument(at: 0) { () throws(Malformed) in try element.value() }
    }

    private func values() throws(StoreError) -> [Value?] {
        try onDocument(at: 0) { () throws(Malformed) in
            try SortKeyReader.read(entry, descending: isDescending)
        }
    }
}

extension [String] {
    /// Whether two arrays share their memory.
    fileprivate func isStored(like other: [String]) -> Bool {
        withUnsafeBufferPointer { own in
            other.withUnsafeBufferPointer { own.baseAddress == $0.baseAddress && !own.isEmpty }
        }
    }
}
