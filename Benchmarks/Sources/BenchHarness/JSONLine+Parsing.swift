extension BenchmarkJSONLine {
    /// An error for a line that is not a flat JSON object.
    package struct Malformed: Error, Equatable {
        /// The byte offset of the error.
        package let offset: Int
    }

    /// Parses an object whose values are strings, numbers, booleans and nulls.
    package init(parsing text: String) throws(Malformed) {
        self.init()
        var parser = Parser(Array(text.utf8))
        try parser.expect("{")
        if !parser.accepts("}") {
            repeat {
                let key = try parser.string()
                try parser.expect(":")
                self[key] = try parser.value()
            } while parser.accepts(",")
            try parser.expect("}")
        }
        try parser.end()
    }

    private struct Parser {
        private let bytes: [UInt8]
        private var offset = 0

        init(_ bytes: [UInt8]) {
            self.bytes = bytes
        }

        private var failure: Malformed { Malformed(offset: offset) }
        private var next: UInt8? { offset < bytes.count ? bytes[offset] : nil }

        private mutating func skipBlanks() {
            while let byte = next, [0x20, 0x09, 0x0A, 0x0D].contains(byte) { offset += 1 }
        }

        mutating func accepts(_ character: Unicode.Scalar) -> Bool {
            skipBlanks()
            guard let byte = next, UInt32(byte) == character.value else { return false }
            offset += 1
            return true
        }

        mutating func expect(_ character: Unicode.Scalar) throws(Malformed) {
            guard accepts(character) else { throw failure }
        }

        mutating func end() throws(Malformed) {
            skipBlanks()
            guard offset == bytes.count else { throw failure }
        }

        mutating func value() throws(Malformed) -> Value {
            skipBlanks()
            if next == UInt8(ascii: "\"") { return .string(try string()) }
            let start = offset
            while let byte = next, !isDelimiter(byte) { offset += 1 }
            let word = String(decoding: bytes[start..<offset], as: UTF8.self)
            switch word {
            case "true": return .boolean(true)
            case "false": return .boolean(false)
            case "null": return .null
            default:
                guard let number = Double(word), number.isFinite else {
                    throw Malformed(offset: start)
                }
                return .number(number)
            }
        }

        private func isDelimiter(_ byte: UInt8) -> Bool {
            byte <= 0x20 || byte == UInt8(ascii: ",") || byte == UInt8(ascii: "}")
        }

        mutating func string() throws(Malformed) -> String {
            try expect("\"")
            var text: [UInt8] = []
            while let byte = next {
                offset += 1
                switch byte {
                case UInt8(ascii: "\""): return String(decoding: text, as: UTF8.self)
                case UInt8(ascii: "\\"): text.append(contentsOf: try escape())
                default: text.append(byte)
                }
            }
            throw failure
        }

        private mutating func escape() throws(Malformed) -> [UInt8] {
            guard let byte = next else { throw failure }
            offset += 1
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return [byte]
            case UInt8(ascii: "n"): return [0x0A]
            case UInt8(ascii: "t"): return [0x09]
            case UInt8(ascii: "r"): return [0x0D]
            case UInt8(ascii: "b"): return [0x08]
            case UInt8(ascii: "f"): return [0x0C]
            case UInt8(ascii: "u"):
                guard offset + 4 <= bytes.count else { throw failure }
                let digits = String(decoding: bytes[offset..<offset + 4], as: UTF8.self)
                // Surrogate pairs are not supported, because the harness never writes them.
                guard let code = UInt32(digits, radix: 16), let scalar = Unicode.Scalar(code)
                else { throw failure }
                offset += 4
                return Array(String(scalar).utf8)
            default: throw failure
            }
        }
    }
}
