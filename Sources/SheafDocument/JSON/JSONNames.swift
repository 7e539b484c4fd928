package import SheafBytes

/// The names of a store as JSON, and their order, for writing many documents.
package struct JSONNames: Sendable {
    /// For each number its rank in the order of the bytes of all names.
    private let ranks: [UInt32]
    /// Concatenated texts of all names in quotes, each followed by a colon, and their ends.
    private let texts: [UInt8]
    private let ends: [Int]
    /// The rank that the name of the id would have.
    private let idRank: UInt32
    private let idText: [UInt8]

    /// Creates the texts of a table; `idName` is the name of the id.
    package init(_ names: NameTable, idName: String) {
        let spellings = (0..<names.count).map { names.name($0) ?? "" }
        let order = spellings.indices.sorted {
            UTF8Order.compare(spellings[$0], spellings[$1]) < 0
        }
        var ranks = [UInt32](repeating: 0, count: spellings.count)
        for (rank, number) in order.enumerated() { ranks[number] = UInt32(rank) }
        self.ranks = ranks
        idRank = UInt32(spellings.count { UTF8Order.compare($0, idName) < 0 })
        var writer = JSONWriter()
        var ends: [Int] = []
        for name in spellings {
            writer.write(text: name)
            writer.bytes.append(UInt8(ascii: ":"))
            ends.append(writer.bytes.count)
        }
        (texts, self.ends) = (writer.bytes, ends)
        var idWriter = JSONWriter()
        idWriter.write(text: idName)
        idWriter.bytes.append(UInt8(ascii: ":"))
        idText = idWriter.bytes
    }

    /// Whether all names of an object have numbers of the table.
    fileprivate func covers(_ fields: EncodedObject) -> Bool {
        guard fields.count == fields.numberedCount else { return false }
        // Numbers ascend.
        return fields.count == 0 || Int(fields.nameNumber(fields.count - 1)) < ranks.count
    }

    fileprivate func rank(_ index: Int, of fields: EncodedObject) -> UInt32 {
        let number = Int(fields.nameNumber(index))
        return number < ranks.count ? ranks[number] : .max
    }

    /// Appends the text of a name.
    fileprivate func append(_ index: Int, of fields: EncodedObject, to bytes: inout [UInt8]) {
        let number = Int(fields.nameNumber(index))
        guard number < ends.count else { return }
        bytes.append(contentsOf: texts[(number == 0 ? 0 : ends[number - 1])..<ends[number]])
    }

    fileprivate func appendID(to bytes: inout [UInt8]) { bytes.append(contentsOf: idText) }

    fileprivate func isAfterID(_ rank: UInt32) -> Bool { rank >= idRank }
}

extension JSONWriter {
    /// Writes the visible fields of a document and its id, in order of name.
    package mutating func write(
        _ fields: EncodedObject, id: Value, idName: String, _ texts: JSONNames, _ names: NameTable
    ) throws(Malformed) {
        guard texts.covers(fields) else { return try write(fields, id: id, idName: idName, names) }
        try write(numbered: fields, id: id, texts, names, depth: 1)
    }

    /// Writes an object whose names all have numbers.
    private mutating func write(
        numbered fields: EncodedObject, id: Value?, _ texts: JSONNames, _ names: NameTable,
        depth: Int
    ) throws(Malformed) {
        bytes.append(UInt8(ascii: "{"))
        var isFirst = true
        var id = id
        if let order = Self.order(of: fields, texts) {
            for index in order {
                try write(index, of: fields, &id, &isFirst, texts, names, depth: depth)
            }
        } else {
            for index in 0..<fields.count {
                try write(index, of: fields, &id, &isFirst, texts, names, depth: depth)
            }
        }
        if let id { write(id, &isFirst, texts) }
        bytes.append(UInt8(ascii: "}"))
    }

    /// Returns the indexes in order of name; nil if they are in order.
    private static func order(of fields: EncodedObject, _ texts: JSONNames) -> [Int]? {
        var last: UInt32 = 0
        for index in 0..<fields.count {
            let rank = texts.rank(index, of: fields)
            guard rank >= last else {
                return (0..<fields.count).sorted {
                    texts.rank($0, of: fields) < texts.rank($1, of: fields)
                }
            }
            last = rank
        }
        return nil
    }

    @inline(__always)
    private mutating func write(
        _ index: Int, of fields: EncodedObject, _ id: inout Value?, _ isFirst: inout Bool,
        _ texts: JSONNames, _ names: NameTable, depth: Int
    ) throws(Malformed) {
        if let first = id, texts.isAfterID(texts.rank(index, of: fields)) {
            write(first, &isFirst, texts)
            id = nil
        }
        let field = try fields.entry(index)
        guard let entry = try field.shown() else { return }
        if !isFirst { bytes.append(UInt8(ascii: ",")) }
        isFirst = false
        texts.append(index, of: fields, to: &bytes)
        switch try entry.tag() {
        case .object, .map, .bareMap:
            let object = try entry.object()
            guard texts.covers(object), depth < Value.maximumDepth else { break }
            return try write(numbered: object, id: nil, texts, names, depth: depth + 1)
        default: break
        }
        try write(entry, in: field, names, depth: depth)
    }

    private mutating func write(_ id: Value, _ isFirst: inout Bool, _ texts: JSONNames) {
        if !isFirst { bytes.append(UInt8(ascii: ",")) }
        isFirst = false
        texts.appendID(to: &bytes)
        write(id)
    }
}

extension JSONWriter {
    /// Writes the visible fields of a document and its id, in order of name, without a table.
    private mutating func write(
        _ fields: EncodedObject, id: Value, idName: String, _ names: NameTable
    ) throws(Malformed) {
        var isIDWritten = false
        bytes.append(UInt8(ascii: "{"))
        var isFirst = true
        for (name, index) in try fields.sortedNames(names) {
            if !isIDWritten, UTF8Order.compare(idName, name) < 0 {
                isIDWritten = true
                write(name: idName, isFirst: &isFirst)
                write(id)
            }
            let field = try fields.entry(index)
            guard let entry = try field.shown() else { continue }
            write(name: name, isFirst: &isFirst)
            try write(entry, in: field, names, depth: 1)
        }
        if !isIDWritten {
            write(name: idName, isFirst: &isFirst)
            write(id)
        }
        bytes.append(UInt8(ascii: "}"))
    }

    private mutating func write(name: String, isFirst: inout Bool) {
        if !isFirst { bytes.append(UInt8(ascii: ",")) }
        isFirst = false
        write(text: name)
        bytes.append(UInt8(ascii: ":"))
    }
}
