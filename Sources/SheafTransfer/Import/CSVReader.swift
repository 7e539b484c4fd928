/// A reader of the records of a CSV file (RFC 4180).
///
/// Line breaks are LF or CRLF, and may occur in quoted fields. A quote within an unquoted field is
/// an ordinary character.
package struct CSVReader {
    /// The outcome of reading a record; a bad one has a reason.
    enum Result {
        case record
        case bad(String)
        case end
    }

    /// Maximum length of a record, unless options set a smaller one.
    package static let maximumRecordLength = 64 << 20
    /// Maximum number of fields of a record.
    package static let maximumFieldCount = 1 << 16

    let input: InputBuffer
    let separator: UInt8
    /// Maximum length of a record; longer ones are skipped.
    private let maximumLength: Int
    /// Number of the line after the last record.
    var line: UInt64 = 1
    /// Number of the first line of the last record.
    private(set) var recordLine: UInt64 = 1
    /// The contents of the fields of the last record, without quotes.
    private(set) var content: [UInt8] = []
    private(set) var fields: [Field] = []

    struct Field {
        var range: Range<Int>
        let isQuoted: Bool
    }

    init(_ input: InputBuffer, separator: UInt8, maximumLength: Int) {
        (self.input, self.separator, self.maximumLength) = (input, separator, maximumLength)
    }

    /// Whether the last record is an empty line.
    var isBlank: Bool { fields.count == 1 && fields[0].range.isEmpty && !fields[0].isQuoted }

    func bytes(_ index: Int) -> ArraySlice<UInt8> { content[fields[index].range] }

    /// Reads the next record that is not an empty line.
    mutating func next() throws(ImportError) -> Result {
        while true {
            let result = try nextRecord()
            if case .record = result, isBlank { continue }
            return result
        }
    }

    private mutating func nextRecord() throws(ImportError) -> Result {
        recordLine = line
        while true {
            if input.bytes.isEmpty, !input.isAtEnd { try input.fill() }
            guard !input.bytes.isEmpty else { return .end }
            var parsing = Parsing(separator: separator, isAtEnd: input.isAtEnd)
            content.removeAll(keepingCapacity: true)
            fields.removeAll(keepingCapacity: true)
            let length = parsing.parse(input.bytes, &content, &fields)
            if let length {
                line += parsing.lineCount
                input.consume(length)
                return parsing.problem.map(Result.bad) ?? .record
            }
            // The record is parsed again from its beginning, with twice as many bytes.
            guard input.bytes.count <= maximumLength else {
                return try skipRecord(isQuoted: parsing.isInQuotes)
            }
            let known = input.bytes.count
            while input.bytes.count < known * 2, !input.isAtEnd { try input.fill() }
        }
    }

    /// Skips a record that is too long, up to the next line break.
    private mutating func skipRecord(isQuoted: Bool) throws(ImportError) -> Result {
        while true {
            let bytes = input.bytes
            line += UInt64(bytes.count { $0 == 0x0A })
            input.consume(bytes.count)
            if input.isAtEnd { break }
            try input.fill()
            if let index = input.bytes.firstIndex(of: 0x0A) {
                input.consume(index + 1)
                line += 1
                break
            }
        }
        let reason = "the record has more than \(maximumLength) bytes"
        return .bad(isQuoted ? reason + "; a quote may not be closed" : reason)
    }

    /// The parsing of one record.
    private struct Parsing {
        let separator: UInt8
        let isAtEnd: Bool
        /// Number of line breaks in the record, with the one that ends it.
        private(set) var lineCount: UInt64 = 0
        private(set) var problem: String?
        private(set) var isInQuotes = false

        init(separator: UInt8, isAtEnd: Bool) {
            (self.separator, self.isAtEnd) = (separator, isAtEnd)
        }

        /// Parses a record; returns its length, or nil if its end is not in memory.
        mutating func parse(
            _ bytes: UnsafeRawBufferPointer, _ content: inout [UInt8], _ fields: inout [Field]
        ) -> Int? {
            var offset = 0
            while true {
                let start = content.count
                let isQuoted = offset < bytes.count && bytes[offset] == UInt8(ascii: "\"")
                if isQuoted {
                    guard let next = parseQuoted(bytes, offset + 1, &content) else { return nil }
                    offset = next
                }
                let plain = offset
                while offset < bytes.count, bytes[offset] != separator, bytes[offset] != 0x0A {
                    offset += 1
                }
                guard offset < bytes.count || isAtEnd else { return nil }
                let isLast = offset == bytes.count || bytes[offset] == 0x0A
                var end = offset
                if isLast, end > plain, bytes[end - 1] == 0x0D { end -= 1 }
                if isQuoted, end > plain, problem == nil {
                    problem = "field \(fields.count + 1) continues after its closing quote"
                }
                content.append(contentsOf: bytes[plain..<end])
                if fields.count < maximumFieldCount {
                    fields.append(Field(range: start..<content.count, isQuoted: isQuoted))
                } else if problem == nil {
                    problem = "the record has more than \(maximumFieldCount) fields"
                }
                guard isLast else {
                    offset += 1
                    continue
                }
                if offset < bytes.count { lineCount += 1 }
                return min(offset + 1, bytes.count)
            }
        }

        /// Appends the content of a quoted field; returns the offset after its closing quote.
        private mutating func parseQuoted(
            _ bytes: UnsafeRawBufferPointer, _ start: Int, _ content: inout [UInt8]
        ) -> Int? {
            var (offset, plain) = (start, start)
            isInQuotes = true
            while offset < bytes.count {
                let byte = bytes[offset]
                if byte == 0x0A { lineCount += 1 }
                guard byte == UInt8(ascii: "\"") else {
                    offset += 1
                    continue
                }
                guard offset + 1 < bytes.count || isAtEnd else { return nil }
                content.append(contentsOf: bytes[plain..<offset])
                guard offset + 1 < bytes.count, bytes[offset + 1] == byte else {
                    isInQuotes = false
                    return offset + 1
                }
                content.append(byte)
                offset += 2
                plain = offset
            }
            guard isAtEnd else { return nil }
            content.append(contentsOf: bytes[plain...])
            problem = problem ?? "the quote of a field is never closed"
            return bytes.count
        }
    }
}
