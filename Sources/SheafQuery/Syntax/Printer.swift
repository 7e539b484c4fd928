import SheafDocument

/// A printer of syntax trees in a canonical form, which parses to the same tree.
struct Printer {
    private(set) var text = ""
    /// Replacement names of parameters; parameters not listed keep their names.
    var parameterNames: [String: String] = [:]

    mutating func write(_ words: String) {
        text += words
    }

    /// Writes elements with a separator between them.
    mutating func write<Element>(
        _ elements: some Sequence<Element>, separator: String = ", ",
        _ body: (inout Printer, Element) -> Void
    ) {
        var isFirst = true
        for element in elements {
            if !isFirst { write(separator) }
            isFirst = false
            body(&self, element)
        }
    }

    /// Writes a name, in backticks if it is not a word or, except after a dot, is a keyword.
    mutating func write(name: String, isBehindDot: Bool = false) {
        var copy = name
        let isBare = copy.withUTF8 { letters in
            guard let first = letters.first, !Lexer.isDigit(first),
                letters.allSatisfy(Lexer.isNamePart)
            else { return false }
            return isBehindDot || KeywordTable.shared.keyword(letters) == nil
        }
        write(isBare ? name : NameSpelling.quoted(name))
    }

    mutating func write(path: [String]) {
        for (index, name) in path.enumerated() {
            if index > 0 { write(".") }
            write(name: name, isBehindDot: index > 0)
        }
    }

    mutating func write(string: String) {
        write("'")
        for scalar in string.unicodeScalars {
            switch scalar {
            case "'": write("\\'")
            case "\\": write("\\\\")
            case "\n": write("\\n")
            case "\r": write("\\r")
            case "\t": write("\\t")
            case "\0"..."\u{1F}":
                let digits = String(scalar.value, radix: 16)
                write("\\u" + String(repeating: "0", count: 4 - digits.count) + digits)
            default: text.unicodeScalars.append(scalar)
            }
        }
        write("'")
    }

    /// Writes a value as a literal; bytes, which have no literal, are written in their JSON form.
    mutating func write(value: Value) {
        switch value {
        case .null: write("NULL")
        case .bool(let value): write(value ? "TRUE" : "FALSE")
        case .integer(let value): write("\(value)")
        case .float(let value): write("\(value)")
        case .string(let value): write(string: value)
        case .bytes: write(value.json)
        case .array(let values):
            write("[")
            write(values) { $0.write(value: $1) }
            write("]")
        case .object(let object):
            write("{")
            write(object) { printer, field in
                printer.write(string: field.name)
                printer.write(": ")
                printer.write(value: field.value)
            }
            write("}")
        }
    }

    /// Writes directives, each with a space on the side of the adjacent token.
    mutating func write(directives: [Object], isLeading: Bool) {
        for directive in directives {
            if !isLeading { write(" ") }
            write("/*+ ")
            var last: UInt8 = 0
            var bytes: [UInt8] = []
            for byte in Value.object(directive).json.utf8 {
                // A JSON string may contain the end of the comment.
                if last == UInt8(ascii: "*"), byte == UInt8(ascii: "/") {
                    bytes.append(UInt8(ascii: "\\"))
                }
                bytes.append(byte)
                last = byte
            }
            write(String(decoding: bytes, as: UTF8.self))
            write(isLeading ? " */ " : " */")
        }
    }
}
