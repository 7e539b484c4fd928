/// A text that grows, and stops at the limit of texts.
struct TextBuilder {
    private(set) var bytes: [UInt8] = []

    /// The text.
    var text: String { String(decoding: bytes, as: UTF8.self) }

    /// Throws where a text would have more bytes than it may.
    static func check(_ count: Int) throws(QueryError) {
        guard count <= QueryLimits.maximumTextLength else {
            throw QueryError(
                .limit, "a text of more than \(QueryLimits.maximumTextLength) bytes")
        }
    }

    /// Takes room at once for what will come.
    mutating func reserve(_ count: Int) throws(QueryError) {
        try Self.check(count)
        bytes.reserveCapacity(count)
    }

    /// Appends a piece of UTF-8.
    mutating func append(_ piece: some Collection<UInt8>) throws(QueryError) {
        try Self.check(bytes.count + piece.count)
        bytes.append(contentsOf: piece)
    }

    /// A text with other scalars in place of its own.
    static func mapped(
        _ text: String, _ mapping: (Unicode.Scalar.Properties) -> String
    ) throws(QueryError) -> String {
        var builder = TextBuilder()
        try builder.reserve(text.utf8.count)
        for scalar in text.unicodeScalars {
            // Nothing in ASCII becomes more than one byte; one check each would be the most of it.
            let mapped = mapping(scalar.properties)
            try builder.append(mapped.utf8)
        }
        return builder.text
    }
}
