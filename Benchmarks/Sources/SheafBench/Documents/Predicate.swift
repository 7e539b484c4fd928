import SheafBytes
import SheafDocument

/// A predicate on documents that was compiled: closures over names that were looked up once.
struct Predicate {
    private let test: (EncodedObject) throws(Malformed) -> Bool

    /// Whether it is true of a document.
    @inline(__always)
    func holds(_ document: EncodedDocument) throws(Malformed) -> Bool {
        guard let fields = try document.fields() else { return false }
        return try test(fields)
    }

    /// A field is a string, and this one.
    static func equal(_ name: FieldName, _ string: StaticString) -> Predicate {
        let string = UnsafeRawBufferPointer(
            start: string.utf8Start, count: string.utf8CodeUnitCount)
        return Predicate { (fields) throws(Malformed) in
            guard let shown = try fields.find(name)?.shown() else { return false }
            return try shown.isString(string)
        }
    }

    /// A field is a number above this one.
    static func above(_ name: FieldName, _ limit: Int64) -> Predicate {
        Predicate { (fields) throws(Malformed) in
            guard let number = try fields.find(name)?.shown()?.number() else { return false }
            switch number {
            case .integer(let value): return value > limit
            case .float(let value): return value > Double(limit)
            }
        }
    }

    static func && (left: Predicate, right: Predicate) -> Predicate {
        let (left, right) = (left.test, right.test)
        return Predicate { (fields) throws(Malformed) in
            guard try left(fields) else { return false }
            return try right(fields)
        }
    }
}
