import SheafBytes
import SheafDocument

/// A decoder of index entries into partial documents.
struct EntryReader {
    private let fields: [IndexDescription.Field]
    /// Whether each field is descending, followed by false for the id.
    private let isDescending: [Bool]
    private let prefixLength: Int

    init(_ index: IndexDescription) {
        fields = index.fields
        isDescending = fields.map(\.isDescending) + [false]
        prefixLength = index.keyPrefix.count
    }

    /// Returns an object with the indexed fields and the id.
    func object(of key: UnsafeRawBufferPointer) throws(StoreError) -> Object {
        let rest = UnsafeRawBufferPointer(rebasing: key.dropFirst(prefixLength))
        let values = try onDocument(at: 0) { () throws(Malformed) in
            try SortKeyReader.read(rest, descending: isDescending)
        }
        guard values.count == fields.count + 1 else {
            throw StoreError(.damaged, "an index entry has \(values.count) values")
        }
        var object = Object()
        for (field, value) in zip(fields, values) {
            guard let value else { continue }
            Self.set(value, at: field.path[...], in: &object)
        }
        object[Row.idName] = values[fields.count]
        return object
    }

    private static func set(_ value: Value, at path: ArraySlice<String>, in object: inout Object) {
        guard let first = path.first else { return }
        guard path.count > 1 else {
            object[first] = value
            return
        }
        var inner = Object()
        if case .object(let known)? = object[first] { inner = known }
        set(value, at: path.dropFirst(), in: &inner)
        object[first] = .object(inner)
    }
}
