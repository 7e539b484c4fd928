extension ByteWriter {
    /// Writes a length-prefixed text.
    package mutating func writeText(_ text: String) {
        writeVarint(UInt64(text.utf8.count))
        write(Array(text.utf8))
    }
}

extension ByteReader {
    /// Reads a length-prefixed text.
    package mutating func readText(limit: Int) throws(Malformed) -> String {
        let start = offset
        let bytes = try readLengthPrefixed(limit: limit)
        guard let text = String(validating: bytes, as: UTF8.self) else { throw .notText(at: start) }
        return text
    }
}
