import SheafDocument

/// Rows of a batch as JSON texts.
struct UnencodedRows: Sendable {
    let texts: JSONRows
    /// The rows that are bad whatever their text is.
    let badRows: [BadRow]
    let position: ImportPosition
    /// The positions of the rows in order.
    let starts: [RowStart]
    /// The ids from that of the first row on.
    let ids: RowIDs
    /// Whether the source has no further rows.
    var isLast = false
}

/// The line and the column of a byte in a text, from 1.
struct TextPlace: Sendable {
    private(set) var line: UInt64 = 1
    private(set) var column = 1

    mutating func advance(over bytes: UnsafeRawBufferPointer.SubSequence) {
        for byte in bytes {
            if byte == 0x0A { (line, column) = (line + 1, 1) } else { column += 1 }
        }
    }
}

/// Copies of JSON texts with the numbers of their rows.
struct JSONRows: Sendable {
    private struct Row {
        let number: UInt64
        let place: TextPlace?
        let end: Int
    }

    private var bytes: [UInt8] = []
    private var rows: [Row] = []

    init() {}

    /// Creates an empty set with room for as many texts and bytes as another one has.
    init(sizedLike other: JSONRows) {
        bytes.reserveCapacity(other.byteCount)
        rows.reserveCapacity(other.count)
    }

    var count: Int { rows.count }
    var byteCount: Int { bytes.count }

    mutating func append(
        _ text: UnsafeRawBufferPointer, row number: UInt64, at place: TextPlace?
    ) {
        bytes.append(contentsOf: text)
        rows.append(Row(number: number, place: place, end: bytes.count))
    }

    /// Calls `body` with each text, the number of its row and its place.
    func forEach(_ body: (UnsafeRawBufferPointer, UInt64, TextPlace?) -> Void) {
        bytes.span.withUnsafeBytes { bytes in
            var start = 0
            for row in rows {
                let text = UnsafeRawBufferPointer(rebasing: bytes[start..<row.end])
                body(text, row.number, row.place)
                start = row.end
            }
        }
    }
}
