import SheafBytes
package import SheafDocument

/// The options of a CSV file.
package struct CSVOptions: Sendable {
    /// The byte between fields; nil finds it in the header.
    package var separator: UInt8?
    /// The types of some columns; the others have the type that all their fields have.
    package var types: [(name: String, type: ColumnType)] = []
    /// The unquoted text of fields that are null; nil if none are.
    package var null: String?
    /// The name of the column with ids.
    package var idName = "_id"
    /// Maximum length of a record.
    package var maximumRecordLength = CSVReader.maximumRecordLength

    package init() {}

    /// The options that change the meaning of rows, for `ImportIdentity`.
    package var text: String {
        let types = types.map { "\($0.name)=\($0.type.rawValue)" }.joined(separator: ",")
        return "csv \(separator ?? 0) \(null ?? "") \(types)"
    }
}

/// A CSV file whose first row has the names of the columns.
package struct CSVSource: ImportSource {
    private struct Column {
        let name: String
        var type: ColumnType?

        /// Whether the name has these bytes; Unicode equivalence is not enough.
        func isNamed(_ other: String) -> Bool { name.utf8.elementsEqual(other.utf8) }
    }

    package private(set) var identity: ImportIdentity
    private var reader: CSVReader
    private var columns: [Column]
    private let null: [UInt8]?

    package var end: UInt64? { reader.input.length }

    /// Reads the header, and all of a second input of the same bytes if types must be inferred.
    package init(
        _ input: InputBuffer, _ identity: ImportIdentity, _ options: CSVOptions,
        sample: () throws(ImportError) -> InputBuffer
    ) throws(ImportError) {
        self.identity = identity
        null = options.null.map { Array($0.utf8) }
        (reader, columns) = try Self.open(input, options)
        if columns.contains(where: { $0.type == nil }) {
            try inferTypes(from: try sample(), options)
        }
        // Rows that are added to a file can change the types, and with them the rows before.
        self.identity = identity.adding(columns.map { "\($0.name)=\($0.type?.rawValue ?? "")" })
    }

    /// Reads the header.
    private static func open(
        _ input: InputBuffer, _ options: CSVOptions
    ) throws(ImportError) -> (CSVReader, [Column]) {
        try input.fill(InputBuffer.headLength)
        let separator = options.separator ?? separator(of: input.bytes)
        var reader = CSVReader(
            input, separator: separator, maximumLength: options.maximumRecordLength)
        let path = input.path.shortened
        switch try reader.next() {
        case .end: throw .source("\(path): the file has no header")
        case .bad(let reason): throw .source("\(path), line \(reader.recordLine): \(reason)")
        case .record: break
        }
        var columns: [Column] = []
        // Equal strings may differ in their bytes, and so may names of fields.
        var seen: Set<[UInt8]> = []
        for index in reader.fields.indices {
            let place = "\(path), line \(reader.recordLine): the header"
            guard let name = String(validating: reader.bytes(index), as: UTF8.self) else {
                throw .source("\(place) is not valid UTF-8")
            }
            guard !name.utf8.contains(0x0D) else {
                throw .source(
                    "\(place) has a carriage return in a name: lines must end with a line feed, "
                        + "alone or after a carriage return")
            }
            guard !name.isEmpty else {
                throw .source("\(place) has no name for column \(index + 1)")
            }
            guard seen.insert(Array(name.utf8)).inserted else {
                throw .source("\(place) has two columns \(name.shortened)")
            }
            columns.append(Column(name: name))
        }
        for (name, type) in options.types {
            guard let index = columns.firstIndex(where: { $0.isNamed(name) }) else {
                throw .usage(
                    "--types names the column \(name.shortened), and \(path) has "
                        + columns.map(\.name).joined(separator: ", ").shortened)
            }
            columns[index].type = type
        }
        guard options.idName == "_id" || seen.contains(Array(options.idName.utf8)) else {
            throw .usage(
                "--id names the column \(options.idName.shortened), and \(path) has "
                    + columns.map(\.name).joined(separator: ", ").shortened)
        }
        return (reader, columns)
    }

    /// Returns the most frequent separator of the first line, or a comma.
    private static func separator(of bytes: UnsafeRawBufferPointer) -> UInt8 {
        var counts: [UInt8: Int] = [:]
        var isQuoted = false
        for byte in bytes {
            if byte == UInt8(ascii: "\"") { isQuoted.toggle() }
            guard !isQuoted else { continue }
            guard byte != 0x0A else { break }
            counts[byte, default: 0] += 1
        }
        let candidates = [",", ";", "\t", "|"].map { UInt8(ascii: $0) }
        if counts[candidates[0]] != nil { return candidates[0] }
        return candidates.max { counts[$0, default: 0] < counts[$1, default: 0] }
            .flatMap { counts[$0] == nil ? nil : $0 } ?? candidates[0]
    }

    /// Decides the types of columns from all rows.
    private mutating func inferTypes(
        from input: InputBuffer, _ options: CSVOptions
    ) throws(ImportError) {
        var (sample, _) = try Self.open(input, options)
        var evidence = [ColumnEvidence](repeating: ColumnEvidence(), count: columns.count)
        reading: while true {
            switch try sample.next() {
            case .end: break reading
            case .bad: continue
            case .record: break
            }
            guard sample.fields.count == columns.count else { continue }
            for index in columns.indices where columns[index].type == nil {
                let bytes = sample.bytes(index)
                guard !bytes.isEmpty, !isNull(sample, index) else { continue }
                evidence[index].add(bytes)
            }
        }
        for index in columns.indices where columns[index].type == nil {
            let type = evidence[index].type
            // Ids are integers or texts.
            let isID = columns[index].isNamed(options.idName)
            columns[index].type = isID && type != .integer ? .text : type
        }
    }

    private func isNull(_ reader: CSVReader, _ index: Int) -> Bool {
        guard let null, !reader.fields[index].isQuoted else { return false }
        return reader.bytes(index).elementsEqual(null)
    }

    package mutating func skip(to position: ImportPosition) throws(ImportError) {
        // The header has been read.
        guard position.offset > reader.input.offset else { return }
        try reader.input.skip(toLineAt: position)
        reader.line = position.row
    }

    package mutating func read(into batch: inout ImportBatch) throws(ImportError) -> Bool {
        while true {
            batch.position = reader.input.position(row: reader.line)
            guard !batch.isFull else { return true }
            switch try reader.next() {
            case .end: return false
            case .bad(let reason): batch.reject(row: reader.recordLine, reason)
            case .record: appendRecord(to: &batch)
            }
        }
    }

    private func appendRecord(to batch: inout ImportBatch) {
        let row = reader.recordLine
        guard reader.fields.count == columns.count else {
            return batch.reject(
                row: row,
                "the row has \(fields(reader.fields.count)), and the header \(columns.count)")
        }
        guard !reader.content.contains(0) else {
            return batch.reject(row: row, "the row has a NUL byte, so it is not text")
        }
        var fields: [Object.Field] = []
        fields.reserveCapacity(columns.count)
        for (index, column) in columns.enumerated() {
            let bytes = reader.bytes(index)
            if isNull(reader, index) {
                fields.append(Object.Field(column.name, .null))
                continue
            }
            let type = column.type ?? .text
            guard !bytes.isEmpty || reader.fields[index].isQuoted && type == .text else {
                continue
            }
            guard let value = type.value(bytes) else {
                let text = String(decoding: bytes, as: UTF8.self)
                return batch.reject(
                    row: row,
                    "column \(column.name.shortened): '\(text.shortened)' is not \(type.phrase)")
            }
            fields.append(Object.Field(column.name, value))
        }
        batch.append(Object(sorting: fields), row: row)
    }

    private func fields(_ count: Int) -> String { count == 1 ? "1 field" : "\(count) fields" }
}
