package import SheafBytes

/// A question to documents that is asked of many: closures over names that were looked up once.
///
/// The questions are answered here and not where they are put together: a call into another module
/// for each step would cost more than the steps.
package struct FieldTest {
    private let holds: (borrowing EncodedObject) throws(Malformed) -> Bool

    /// Whether there is a document in these bytes, of which it is true.
    package func holds(_ document: UnsafeRawBufferPointer) throws(Malformed) -> Bool {
        guard let fields = try EncodedDocument(document).fields() else { return false }
        return try holds(fields)
    }

    /// Whether a field shows this string.
    package static func equal(_ name: FieldName, _ string: String) -> FieldTest {
        let string = Array(string.utf8)
        return FieldTest { (fields) throws(Malformed) in
            guard let shown = try fields.find(name)?.shown() else { return false }
            return try string.span.withUnsafeBytes { (bytes) throws(Malformed) in
                try shown.isString(bytes)
            }
        }
    }

    /// Whether a field shows a number above this one.
    package static func above(_ name: FieldName, _ limit: Int64) -> FieldTest {
        FieldTest { (fields) throws(Malformed) in
            guard let number = try fields.find(name)?.shown()?.number() else { return false }
            switch number {
            case .integer(let value): return value > limit
            case .float(let value): return NumberOrder.compare(limit, value) < 0
            }
        }
    }

    /// Whether both are true; the second is asked where the first is.
    package static func both(_ first: FieldTest, _ second: FieldTest) -> FieldTest {
        let (first, second) = (first.holds, second.holds)
        return FieldTest { (fields) throws(Malformed) in
            guard try first(fields) else { return false }
            return try second(fields)
        }
    }
}
