package import SheafDocument
import SheafQuery
import SheafStatements
package import SheafStore

/// The fields of a sample of a collection's documents.
package struct FieldSample: Sendable {
    /// A field, named by its path.
    package struct Field: Sendable {
        /// The path.
        package let path: [String]
        /// The number of documents with each type of value.
        package fileprivate(set) var types: [String: Int] = [:]
        /// The number of documents that have the field.
        package fileprivate(set) var count = 0
    }

    /// The number of ranges of the collection from which documents are taken.
    private static let rangeCount = 10
    /// Maximum depth of the fields within objects.
    private static let maximumDepth = 6
    /// Maximum number of fields; objects used as maps may have more.
    private static let maximumFields = 2_000

    /// Whether a collection is larger than the sample.
    package private(set) var isPartial = false
    /// The number of documents in the sample.
    package private(set) var documentCount = 0
    /// The fields in the order of their first appearance.
    package private(set) var fields: [Field] = []
    private var numbers: [[String]: Int] = [:]

    /// Reads the first documents of a collection.
    package init(first limit: Int, of collection: String, in store: Store) throws(StoreError) {
        isPartial = try !read(limit, from: 0, of: collection, in: store)
    }

    /// Reads documents from ranges that are spread evenly over a collection of `count` documents.
    package init(
        spread limit: Int, of collection: String, count: Int, in store: Store
    ) throws(StoreError) {
        guard count > limit else {
            _ = try read(limit, from: 0, of: collection, in: store)
            return
        }
        isPartial = true
        let length = limit / Self.rangeCount
        for range in 0..<Self.rangeCount {
            let start = range * (count - length) / (Self.rangeCount - 1)
            _ = try read(length, from: start, of: collection, in: store)
        }
    }

    /// Adds documents; returns whether there were fewer than `limit`.
    private mutating func read(
        _ limit: Int, from start: Int, of collection: String, in store: Store
    ) throws(StoreError) -> Bool {
        let name = NameSpelling.quoted(collection)
        let source = collection.hasPrefix("system:") ? collection : name
        let statement = try Parser.parse("SELECT * FROM \(source) LIMIT \(limit) OFFSET \(start)")
        let result = try store.queries.execute(statement, ArgumentValues())
        defer { withExtendedLifetime(result) {} }
        var count = 0
        for item in result.items {
            add(try item.object(result.names), below: [])
            count += 1
        }
        documentCount += count
        return count < limit
    }

    private mutating func add(_ object: Object, below path: [String]) {
        for field in object {
            let path = path + [field.name]
            if numbers[path] == nil, fields.count < Self.maximumFields {
                numbers[path] = fields.count
                fields.append(Field(path: path))
            }
            guard let number = numbers[path] else { continue }
            fields[number].count += 1
            fields[number].types[Function.typeName(of: field.value), default: 0] += 1
            if path.count < Self.maximumDepth, case .object(let inner) = field.value {
                add(inner, below: path)
            }
        }
    }
}

extension FieldSample.Field {
    /// The types, most frequent first, with their shares if there are several.
    package var typeText: String {
        let sorted = types.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
        guard sorted.count > 1 else { return sorted.first?.key ?? "" }
        return sorted.map { "\($0.key) \(FieldSample.percent($0.value, of: count))" }
            .joined(separator: ", ")
    }

    /// The path, spelled as in a statement.
    package var spelling: String { path.map(NameSpelling.text).joined(separator: ".") }
}

extension FieldSample {
    /// Returns a share in percent, rounded down; a share below 1 % is `<1 %`.
    package static func percent(_ part: Int, of total: Int) -> String {
        guard total > 0, part < total else { return "100 %" }
        let share = part * 100 / total
        return share == 0 ? "<1 %" : "\(share) %"
    }
}
