package import SheafBytes

/// An error of a store: its reason, a message, and a hint.
public struct StoreError: Error, Equatable, Sendable {
    /// The kind of an error; new versions may add cases.
    public enum Reason: Hashable, Sendable {
        /// The statement violates the grammar.
        case syntax
        /// The statement is grammatical, but meaningless or not allowed in its context.
        case meaning
        /// An argument is missing, or has the wrong type or value.
        case argument
        /// A limit was exceeded.
        case limit
        /// The operation conflicts with existing documents.
        case conflict
        /// No document has the id, or a statement returned no row where one is required.
        case notFound
        /// The requested data is not in the store and must be fetched from a peer.
        case missing
        /// Bytes on the disk differ from those written.
        case damaged
        /// The disk is full.
        case full
        /// The system failed to read or write a file.
        case disk
        /// The store is open in another process, or already open in this one.
        case inUse
        /// There is no store at this path, or its files are not those of a store.
        case notAStore
        /// The store requires a newer version of the library.
        case unsupported
        /// The store or the transaction is read-only.
        case readOnly
        /// A write would wait forever for the transaction in whose block it was requested.
        case nestedTransaction
        /// The transaction has already ended.
        case transactionEnded
        /// The statement took longer than `dql_request_timeout_seconds`, or waited longer than
        /// `transaction_wait_limit_ms` for one transaction.
        case timedOut
        /// The task that ran the statement was canceled.
        case cancelled
        /// The store was closed.
        case closed
        /// The store failed in a way that no other case covers.
        case failed
    }

    /// The location of an error in a statement.
    public struct TextLocation: Equatable, Sendable {
        /// The line, counted from 1.
        public let line: Int
        /// The column in characters, counted from 1.
        public let column: Int
    }

    /// A line of the statement with its marked part.
    package struct Excerpt: Equatable, Sendable {
        /// Line number, starting at 1.
        package let line: Int
        package let column: Int
        package let text: String
        /// Start of the mark in `text`, in characters.
        package let markStart: Int
        package let markLength: Int

        package init(line: Int, column: Int, text: String, markStart: Int, markLength: Int) {
            self.line = line
            self.column = column
            self.text = text
            self.markStart = markStart
            self.markLength = markLength
        }
    }

    private struct Details: Equatable, Sendable {
        let reason: Reason
        let message: String
        let hint: String?
        let excerpt: Excerpt?
        let page: String?
        let document: UInt64
    }

    /// Indirect, so that throwing functions reserve little stack space; the parser is recursive.
    ///
    /// It also keeps every `Result` with an error small.
    private indirect enum Box: Equatable, Sendable {
        case details(Details)
    }

    private let box: Box

    package init(
        _ reason: Reason, _ message: String, hint: String? = nil, excerpt: Excerpt? = nil,
        page: String? = nil, document: UInt64 = 0
    ) {
        box = .details(
            Details(
                reason: reason,
                message: message.shortened(to: ErrorText.messageLimit),
                hint: hint?.shortened(to: ErrorText.messageLimit),
                excerpt: excerpt, page: page, document: document))
    }

    /// Creates the error of a document whose bytes violate the format.
    package init(_ error: Malformed, document: UInt64 = 0) {
        self.init(.damaged, "a document is damaged: \(error)", document: document)
    }

    private var details: Details {
        switch box {
        case .details(let details): details
        }
    }

    /// The kind of the error, for programs that react to it.
    public var reason: Reason { details.reason }
    /// The description of the error, without its location.
    public var message: String { details.message }
    /// A suggestion for correcting the error, if there is one.
    public var hint: String? { details.hint }
    /// The entry of the language reference that describes the correct form, such as `UPDATE`.
    ///
    /// `sheaf help` prints the entry, or the list of entries for a plural such as `functions`.
    public var page: String? { details.page }
    /// The location in the statement, if the error is in its text.
    public var location: TextLocation? {
        excerpt.map { TextLocation(line: $0.line, column: $0.column) }
    }
    /// The line of the statement that contains the error, if the error is in its text.
    package var excerpt: Excerpt? { details.excerpt }
    /// Log position of the damaged document; zero if there is none or it is unknown.
    package var document: UInt64 { details.document }
}

extension StoreError: CustomStringConvertible {
    /// The message, the line of the statement with the location marked, the hint and the page.
    public var description: String {
        var lines = [message]
        if let excerpt {
            lines[0] += " (line \(excerpt.line), column \(excerpt.column))"
            lines.append("  " + excerpt.text)
            lines.append(
                "  " + String(repeating: " ", count: excerpt.markStart)
                    + String(repeating: "^", count: excerpt.markLength))
        }
        if let hint { lines.append(hint) }
        if let page { lines.append("reference: \(page)") }
        return lines.joined(separator: "\n")
    }
}
