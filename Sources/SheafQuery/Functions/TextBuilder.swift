import SheafDocument

/// A string buffer with the length limit of computed strings.
struct TextBuilder {
    private(set) var bytes: [UInt8] = []

    /// The contents, with invalid UTF-8 repaired.
    var text: String { String(decoding: bytes, as: UTF8.self) }

    /// Throws if a length exceeds the limit of strings.
    static func check(_ count: Int) throws(StoreError) {
        guard count <= QueryLimits.maximumTextLength else {
            throw StoreError(
                .limit, "a text has more than \(QueryLimits.maximumTextLength) bytes")
        }
    }

    /// Reserves capacity; throws if it exceeds the limit.
    mutating func reserve(_ count: Int) throws(StoreError) {
        try Self.check(count)
        bytes.reserveCapacity(count)
    }

    /// Appends UTF-8 bytes.
    mutating func append(_ piece: some Collection<UInt8>) throws(StoreError) {
        try Self.check(bytes.count + piece.count)
        bytes.append(contentsOf: piece)
    }

    /// Returns a text with each scalar replaced by its mapping.
    static func mapped(
        _ text: String, _ mapping: (Unicode.Scalar.Properties) -> String
    ) throws(StoreError) -> String {
        var builder = TextBuilder()
        try builder.reserve(text.utf8.count)
        for scalar in text.unicodeScalars {
            let mapped = mapping(scalar.properties)
            try builder.append(mapped.utf8)
        }
        return builder.text
    }
}
