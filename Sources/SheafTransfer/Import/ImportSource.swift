package import SheafDocument

/// A source of rows that an import turns into documents.
///
/// `ImportRun` calls `read` on a thread of its own, while another thread writes earlier batches.
package protocol ImportSource {
    /// The identity of the source, which a continued import compares.
    var identity: ImportIdentity { get }
    /// The offset at the end, in units of `ImportPosition.offset`; nil if it is unknown.
    var end: UInt64? { get }
    /// The meaning of the numbers of rows.
    var numbering: RowNumbering { get }

    /// Continues at a position that an earlier import reached.
    mutating func skip(to position: ImportPosition) throws(ImportError)

    /// Appends rows until the batch is full, and sets its position; returns false at the end.
    mutating func read(into batch: inout ImportBatch) throws(ImportError) -> Bool
}

extension ImportSource {
    package var numbering: RowNumbering { .lines }
}

/// The identity of a source: a continued import must have the same one.
package struct ImportIdentity: Hashable, Sendable {
    /// The name without its directory; `-` is standard input.
    package let name: String
    /// Length in bytes; nil if it is unknown.
    package let length: UInt64?
    /// Hash of the first bytes.
    package let head: UInt64
    /// The options that change the meaning of rows, as one text.
    package let options: String

    package init(name: String, length: UInt64?, head: UInt64, options: String) {
        self.name = name
        self.length = length
        self.head = head
        self.options = options
    }

    /// Returns the identity with more options.
    func adding(_ more: [String]) -> ImportIdentity {
        ImportIdentity(
            name: name, length: length, head: head,
            options: ([options] + more).joined(separator: ","))
    }
}

/// A row without a document.
package struct BadRow: Hashable, Sendable {
    /// Number of the row, whose meaning is the `RowNumbering` of the source.
    package let row: UInt64
    package let reason: String

    package init(row: UInt64, reason: String) {
        self.row = row
        self.reason = reason
    }
}

/// The reason why an import ended early; texts are complete sentences without a full stop.
package enum ImportError: Error, Hashable, Sendable {
    /// Options that contradict each other or the source.
    case usage(String)
    /// The source cannot be read.
    case source(String)
    /// The store cannot be written.
    case store(String)
    /// The store is damaged.
    case damaged(String)
}
