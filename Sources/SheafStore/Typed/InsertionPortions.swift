package import SheafDocument
package import SheafStatements

/// The portions in which the documents of a sequence are inserted.
///
/// Most documents are encoded and inserted one by one. Others are inserted together as values: the
/// first ones, so that their common names get numbers, and those that need `ValueEncoder`.
package struct InsertionPortions<Document> {
    /// Number of documents whose common names get numbers.
    private static var namingLength: Int { 16 }
    /// Number of documents after which further names get numbers, and maximum number of values.
    private static var maximumLength: Int { 1_000 }

    /// The number of next documents that are inserted as values.
    private var valueCount = Self.namingLength
    private var encodedCount = 0

    package init() {}

    /// Returns the arguments of the next insertion; nil after the last document.
    package mutating func next(
        _ document: () -> Document?, encode: (Document) -> UnstampedDocument?,
        value: (Document) throws -> Value
    ) rethrows -> QueryArguments? {
        var values: [Value] = []
        if valueCount == 0 {
            guard let document = document() else { return nil }
            if let encoded = encode(document) {
                encodedCount += 1
                if encoded.spellsNames, encodedCount >= Self.maximumLength {
                    (valueCount, encodedCount) = (Self.namingLength, 0)
                }
                return QueryArguments("documents", encoded)
            }
            values.append(try value(document))
            valueCount = Self.maximumLength
        }
        while values.count < valueCount, let document = document() {
            values.append(try value(document))
        }
        valueCount = 0
        return values.isEmpty ? nil : QueryArguments(["documents": .array(values)])
    }
}
