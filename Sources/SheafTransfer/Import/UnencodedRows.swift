import SheafDocument

/// Rows of a batch as JSON texts.
struct UnencodedRows: Sendable {
    let texts: JSONRows
    /// The rows that are bad whatever their text is.
    let badRows: [BadRow]
    let position: ImportPosition
    /// The ids from that of the first row on.
    let ids: RowIDs
    /// Whether the source has no further rows.
    var isLast = false
}

/// Copies of JSON texts with the numbers of their rows.
struct JSONRows: Sendable {
    private var bytes: [UInt8] = []
    private var rows: [(number: UInt64, end: Int)] = []

    init() {}

    /// Creates an empty set with room for as many texts and bytes as another one has.
    init(sizedLike other: JSONRows) {
        bytes.reserveCapacity(other.byteCount)
        rows.reserveCapacity(other.count)
    }

    var count: Int { rows.count }
    var byteCount: Int { bytes.count }

    mutating func append(_ text: UnsafeRawBufferPointer, row number: UInt64) {
        bytes.append(contentsOf: text)
        rows.append((number, bytes.count))
    }

    /// Calls `body` with each text and the number of its row.
    func forEach(_ body: (UnsafeRawBufferPointer, UInt64) -> Void) {
        bytes.span.withUnsafeBytes { bytes in
            var start = 0
            for (number, end) in rows {
                body(UnsafeRawBufferPointer(rebasing: bytes[start..<end]), number)
                start = end
            }
        }
    }
}
