package import SheafBytes

/// Conversion of encoded documents to JSON, without intermediate values.
extension JSONWriter {
    /// Writes the visible content of a document, with fields in order of name.
    package mutating func write(
        _ document: EncodedDocument, _ names: NameTable
    ) throws(Malformed) {
        guard try document.exists(), let fields = try document.fields() else {
            return write(word: "null")
        }
        try write(fields, names, depth: 1)
    }

    private mutating func write(
        _ fields: EncodedObject, _ names: NameTable, depth: Int
    ) throws(Malformed) {
        bytes.append(UInt8(ascii: "{"))
        var isFirst = true
        for (name, index) in try fields.sortedNames(names) {
            guard let entry = try fields.entry(index).shown() else { continue }
            if !isFirst { bytes.append(UInt8(ascii: ",")) }
            isFirst = false
            write(text: name)
            bytes.append(UInt8(ascii: ":"))
            try write(entry, in: try fields.entry(index), names, depth: depth)
        }
        bytes.append(UInt8(ascii: "}"))
    }

    mutating func write(
        _ shown: EncodedEntry, in field: EncodedEntry, _ names: NameTable, depth: Int
    ) throws(Malformed) {
        if let number = try shown.number() {
            switch number {
            case .integer(let value): write(value)
            case .float(let value): write(value)
            }
            return
        }
        switch try shown.tag() {
        case .null: write(word: "null")
        case .no: write(word: "false")
        case .yes: write(word: "true")
        case .string:
            let text = try shown.payloadBytes()
            guard isUTF8(text) else { throw .notText(at: shown.start) }
            bytes.append(UInt8(ascii: "\""))
            write(escaping: text)
            bytes.append(UInt8(ascii: "\""))
        case .object, .map, .bareMap:
            guard depth < Value.maximumDepth else {
                throw .tooDeep(at: shown.start, limit: Value.maximumDepth)
            }
            try write(try shown.object(), names, depth: depth + 1)
        case .array:
            guard depth < Value.maximumDepth else {
                throw .tooDeep(at: shown.start, limit: Value.maximumDepth)
            }
            let array = try shown.array()
            bytes.append(UInt8(ascii: "["))
            for index in 0..<array.count {
                if index > 0 { bytes.append(UInt8(ascii: ",")) }
                let element = try array.element(index)
                try write(element, in: element, names, depth: depth + 1)
            }
            bytes.append(UInt8(ascii: "]"))
        default:
            guard let value = try field.value(names, depth: depth + 1) else {
                return write(word: "null")
            }
            write(value)
        }
    }
}

extension EncodedObject {
    /// Returns the field names in byte order, with the index of each field.
    func sortedNames(
        _ names: NameTable
    ) throws(Malformed) -> [(name: String, index: Int)] {
        var sorted: [(name: String, index: Int)] = []
        sorted.reserveCapacity(count)
        for index in 0..<count { sorted.append((try name(index, names), index)) }
        sorted.sort { UTF8Order.compare($0.name, $1.name) < 0 }
        return sorted
    }
}
