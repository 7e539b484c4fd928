import SheafBytes
import SheafDocument
import SheafEngine
import SheafQuery
import SheafStorage

/// The rows of `system:fields`: the fields of some documents of each collection, with their types.
struct FieldRows {
    private let snapshot: DocumentSnapshot
    /// The only collection; nil for all.
    private let collection: String?

    /// Maximum number of documents of a collection that are read, evenly distributed by id.
    private static let sampleCount = 1_000
    /// Maximum number of fields of a collection.
    private static let maximumFields = 500
    /// Maximum length of the path of a field in an embedded object.
    private static let maximumDepth = 4

    init(_ snapshot: DocumentSnapshot, _ bounds: RowBounds) {
        self.snapshot = snapshot
        collection = bounds.collection
    }

    private struct Field {
        var count = 0
        var types: [String: Int] = [:]
    }

    /// The fields of a collection, in the order in which they are found.
    private struct Fields {
        var order: [[String]] = []
        var known: [[String]: Field] = [:]

        mutating func add(_ object: Object, behind path: [String] = []) {
            for field in object {
                let path = path + [field.name]
                if known[path] == nil {
                    guard order.count < FieldRows.maximumFields else { continue }
                    order.append(path)
                }
                known[path, default: Field()].count += 1
                known[path, default: Field()].types[
                    Function.typeName(of: field.value), default: 0] += 1
                guard case .object(let inner) = field.value,
                    path.count < FieldRows.maximumDepth
                else { continue }
                add(inner, behind: path)
            }
        }
    }

    func rows() throws(StoreError) -> [Object] {
        var rows: [Object] = []
        for (number, collection) in snapshot.catalog.collections.enumerated() {
            if let wanted = self.collection, wanted != collection { continue }
            let (fields, count) = try sample(StoreKey.documents(of: UInt16(number)))
            for path in fields.order {
                guard let field = fields.known[path] else { continue }
                let types = field.types.map { Object.Field($0.key, .integer(Int64($0.value))) }
                let text = PathText.of(path)
                rows.append([
                    "_id": .string("\(collection).\(text)"), "collection": .string(collection),
                    "field": .string(text), "count": .integer(Int64(field.count)),
                    "sampled": .integer(Int64(count)), "types": .object(Object(sorting: types)),
                ])
            }
        }
        return rows
    }

    /// Returns the fields of some documents in a range, and the number of these documents.
    private func sample(_ range: KeyRange) throws(StoreError) -> (Fields, count: Int) {
        let total = max(snapshot.count(in: range), Self.sampleCount)
        var pointers: [(key: [UInt8], pointer: RecordPointer)] = []
        // The remainder wraps around at the documents to read.
        var remainder = 0
        snapshot.forEachEntry(in: range) { key, pointer in
            if remainder < Self.sampleCount { pointers.append((Array(key), pointer)) }
            remainder = (remainder + Self.sampleCount) % total
            return true
        }
        var fields = Fields()
        var count = 0
        do throws(EngineError) {
            for (key, pointer) in pointers {
                let (_, document) = try snapshot.document(at: pointer)
                let object = try onDocument(key) { () throws(Malformed) in
                    try document.read { bytes throws(Malformed) in
                        try EncodedDocument(bytes).existingFields()?.value(snapshot.names)
                    }
                }
                guard let object else { continue }
                count += 1
                fields.add(object)
            }
        } catch {
            throw StoreError(error)
        }
        return (fields, count)
    }
}
