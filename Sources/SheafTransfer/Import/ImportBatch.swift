import SheafBytes
package import SheafDocument
import SheafEngine
import SheafStatements
import SheafStorage

/// Rows that one commit writes, encoded as documents.
package struct ImportBatch: ~Copyable {
    /// Maximum number of rows, and of encoded bytes beyond which no row is added.
    package static let maximumRows = 8_192
    package static let maximumBytes = 4 << 20

    /// The settings of all batches of an import.
    struct Settings: Sendable {
        /// The number of the collection, which the transaction corrects if it differs.
        let collection: UInt16
        /// The name of the field that becomes the id.
        let idName: String
        /// Maximum number of bad rows.
        let badRowLimit: UInt64
        /// Maximum length of a document in the store.
        let documentLimit: Int
        let documents: DocumentEngine
        /// Whether batches of JSON texts are encoded later, by other threads.
        ///
        /// Otherwise the number of bad rows is known when a row is added.
        var encodesLater: Bool { badRowLimit == .max }
    }

    /// The position of the next row; the source sets it before each row, and at its end.
    package var position = ImportPosition()

    private let settings: Settings
    private let idBytes: [UInt8]
    private var encoder = NewDocumentEncoder()
    private var names: NameTable
    private var documents = NewDocuments()
    private var texts = JSONRows()
    private let encodesLater: Bool
    private var badRows: [BadRow] = []
    /// The positions of the rows.
    private var starts: [RowStart] = []
    /// Number of bad rows in earlier batches.
    private var earlierBadRowCount: UInt64 = 0
    private var key = [UInt8](repeating: 0, count: 1 << 10)
    private var ids: RowIDs
    /// The names that the documents spell out, in the order of the texts.
    private var spelledNames = OrderedNames()

    init(_ settings: Settings, encodesLater: Bool) {
        self.settings = settings
        self.encodesLater = encodesLater
        idBytes = Array(settings.idName.utf8)
        names = settings.documents.newestCatalog.names
        ids = RowIDs(settings.documents.store.options, collection: settings.collection)
    }

    /// Whether the source must stop adding rows.
    package var isFull: Bool {
        documents.count + texts.count >= Self.maximumRows
            || documents.byteCount + texts.byteCount >= Self.maximumBytes
            || badRows.count >= Self.maximumRows || isStopped
    }

    /// Whether there are more bad rows than permitted.
    var isStopped: Bool {
        earlierBadRowCount + UInt64(badRows.count) > settings.badRowLimit
    }

    /// Whether no row was added.
    var isEmpty: Bool { documents.count == 0 && texts.count == 0 && badRows.isEmpty }

    /// Adds a row without a document.
    package mutating func reject(row: UInt64, _ reason: String) {
        starts.append(RowStart(row: row, position: position))
        addBadRow(row, reason)
    }

    private mutating func addBadRow(_ row: UInt64, _ reason: String) {
        badRows.append(BadRow(row: row, reason: reason))
    }

    /// Adds a row with the fields of an object.
    package mutating func append(_ object: Object, row: UInt64) {
        starts.append(RowStart(row: row, position: position))
        guard !object.isDeeper(than: Value.maximumDepth) else {
            return addBadRow(
                row, "arrays and objects are nested deeper than \(Value.maximumDepth)")
        }
        let hasOtherID = settings.idName != Self.idName && object[Self.idName] != nil
        encoder.encode(object, without: settings.idName, names)
        append(id: object[settings.idName], hasOtherID: hasOtherID, row: row)
    }

    /// Adds a row with the fields of a JSON object.
    ///
    /// Errors have their place in the source, or without `place` a column in the row.
    mutating func append(
        json text: UnsafeRawBufferPointer, row: UInt64, at place: TextPlace? = nil
    ) {
        starts.append(RowStart(row: row, position: position))
        guard !encodesLater else { return texts.append(text, row: row, at: place) }
        encode(json: text, row: row, at: place)
    }

    private mutating func encode(
        json text: UnsafeRawBufferPointer, row: UInt64, at place: TextPlace?
    ) {
        let id: Value?
        do throws(JSONError) {
            id = try encoder.encode(json: text, idName: idBytes, names)
        } catch {
            return addBadRow(row, Self.text(of: error, at: place))
        }
        append(id: id, hasOtherID: encoder.hasOtherID, row: row)
    }

    private static func text(of error: JSONError, at start: TextPlace?) -> String {
        guard let start else { return "column \(error.column): \(error.explanation)" }
        let line = start.line + UInt64(error.line - 1)
        let column = error.line == 1 ? start.column + error.column - 1 : error.column
        return "line \(line), column \(column): \(error.explanation)"
    }

    private static let idName = "_id"

    private mutating func append(id: Value?, hasOtherID: Bool, row: UInt64) {
        guard !hasOtherID else {
            return addBadRow(
                row,
                "the row has a field _id beside \(settings.idName.shortened), which becomes the _id"
            )
        }
        guard id != nil || settings.idName == Self.idName else {
            return addBadRow(row, "the field \(settings.idName.shortened) is missing")
        }
        // Longer documents cannot be decoded, which numbering their names requires.
        guard encoder.length <= EncodedDocument.maximumLength else {
            let limit = min(settings.documentLimit, EncodedDocument.maximumLength)
            let error = EngineError.limit(
                name: "maximumDocumentLength", value: encoder.length, limit: limit)
            return addBadRow(row, StoreError(error).message)
        }
        if encoder.spellsNames { spelledNames.add(encoder.spelledNames) }
        do throws(DocumentError) {
            let key = if let id { try key(of: id) } else { ids.next() }
            documents.append(encoder, key, row: row)
        } catch {
            addBadRow(row, "\(error)")
        }
    }

    private mutating func key(of id: Value) throws(DocumentError) -> [UInt8] {
        if case .string(let text) = id {
            let length = key.withUnsafeMutableBytes {
                StoreKey.write(documentOf: settings.collection, id: text, to: $0)
            }
            if let length, length - StoreKey.documentPrefixLength <= DocumentID.maximumLength {
                return Array(key[..<length])
            }
        }
        return try StoreKey.bytes(ofDocument: id, collection: settings.collection)
    }

    /// Returns the JSON texts and the rest of the batch, and empties it; nil if there are no texts.
    mutating func takeTexts() -> UnencodedRows? {
        guard texts.count > 0 else { return nil }
        precondition(documents.count == 0, "A source has JSON texts or objects.")
        let rows = UnencodedRows(
            texts: texts, badRows: badRows, position: position, starts: starts, ids: ids)
        // Texts with an id leave gaps between the numbers of the others.
        ids.skip(texts.count)
        (texts, badRows, starts) = (JSONRows(sizedLike: texts), [], [])
        return rows
    }

    /// Encodes rows that another batch collected.
    mutating func encode(_ rows: UnencodedRows) throws(Malformed) -> ImportedRows {
        (badRows, position, starts) = (rows.badRows, rows.position, rows.starts)
        ids = rows.ids
        rows.texts.forEach { encode(json: $0, row: $1, at: $2) }
        var encoded = try finish()
        encoded.isLast = rows.isLast
        return encoded
    }

    /// Returns the rows, and empties the batch.
    mutating func finish() throws(Malformed) -> ImportedRows {
        defer {
            earlierBadRowCount += UInt64(badRows.count)
            // Batches have similar sizes; growing the memory would copy the documents again.
            documents = NewDocuments(sizedLike: documents)
            (badRows, starts, spelledNames) = ([], [], OrderedNames())
            names = settings.documents.newestCatalog.names
        }
        // Names of several documents get numbers first, or all documents would spell them out.
        let shared = try documents.sharedNames()
        if !shared.isEmpty {
            // Names in the order of their numbers are found without a search.
            let numbered = settings.documents.assignNumbers(to: spelledNames.sorted(shared))
            try documents.rename(from: names, to: numbered)
        }
        documents.sort()
        return ImportedRows(
            documents: documents, badRows: badRows, position: position, starts: starts)
    }
}

/// The position of a row in its source.
struct RowStart: Sendable {
    let row: UInt64
    let position: ImportPosition
}

/// The content of a batch.
struct ImportedRows: Sendable {
    var documents: NewDocuments
    var badRows: [BadRow]
    /// The position after the last row.
    let position: ImportPosition
    /// The positions of the rows in order.
    let starts: [RowStart]
    /// Whether the source has no further rows.
    var isLast = false

    /// Returns the position at which the batch ends.
    func end(_ cut: RowWriter.Cut?) -> ImportPosition {
        switch cut {
        case nil: position
        case .after(let row): starts.first { $0.row > row }?.position ?? position
        case .before(let row): starts.first { $0.row >= row.row }?.position ?? position
        }
    }

    /// Removes and returns the documents, which then have no second owner and change in place.
    mutating func takeDocuments() -> NewDocuments {
        var taken = NewDocuments()
        swap(&taken, &documents)
        return taken
    }
}

/// Names in the order of their first occurrence.
private struct OrderedNames {
    /// Maximum number of names; further ones have no order.
    private static let maximumCount = 1 << 12
    private var positions: [[UInt8]: Int] = [:]

    mutating func add(_ names: [[UInt8]]) {
        for name in names where positions.count < Self.maximumCount && positions[name] == nil {
            positions[name] = positions.count
        }
    }

    func sorted(_ names: Set<[UInt8]>) -> [[UInt8]] {
        names.sorted { positions[$0, default: .max] < positions[$1, default: .max] }
    }
}
