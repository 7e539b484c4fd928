import SheafAttachments
import SheafBytes
import SheafEngine
import SheafQuery
import SheafStatements
package import SheafStorage

/// An error of a store: its reason, a message, and a hint.
public struct StoreError: Error, Equatable, Sendable {
    /// The kind of an error; new versions may add cases.
    public enum Reason: Hashable, Sendable {
        /// The statement violates the grammar.
        case syntax
        /// The statement is grammatical, but meaningless or not allowed here.
        case meaning
        /// An argument is missing, or has the wrong type or value.
        case argument
        /// A limit was exceeded.
        case limit
        /// The operation conflicts with existing documents.
        case conflict
        /// The requested data is not stored here and must be fetched from a peer.
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
        /// The statement took longer than `dql_request_timeout_seconds` allows.
        /// Or one transaction kept it waiting for longer than `transaction_wait_limit_ms`.
        case timedOut
        /// The task that ran the statement was cancelled.
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

    private struct Details: Equatable, Sendable {
        let reason: Reason
        let message: String
        let hint: String?
        var location: TextLocation?
        let text: String
    }

    /// An indirection that keeps `StoreError`, and every `Result` that can hold one, small.
    private indirect enum Box: Equatable, Sendable {
        case details(Details)
    }

    private let box: Box

    private var details: Details {
        switch box {
        case .details(let details): details
        }
    }

    public var reason: Reason { details.reason }
    /// The description of the error and of its location.
    public var message: String { details.message }
    /// A suggestion for correcting the error, if there is one.
    public var hint: String? { details.hint }
    /// The location in the statement, if the error is in its text.
    public var location: TextLocation? { details.location }

    init(_ reason: Reason, _ message: String, hint: String? = nil) {
        let message = message.shortened(to: ErrorText.messageLimit)
        let hint = hint?.shortened(to: ErrorText.messageLimit)
        let text = hint.map { "\(message)\n\($0)" } ?? message
        box = .details(Details(reason: reason, message: message, hint: hint, text: text))
    }

    init(_ error: QueryError) {
        let location = error.excerpt.map { TextLocation(line: $0.line, column: $0.column) }
        box = .details(
            Details(
                reason: Reason(error.reason), message: error.message, hint: error.hint,
                location: location, text: error.description))
    }

    init(_ error: EngineError) {
        if case .storage(let error) = error {
            self.init(error)
        } else {
            self.init(QueryError(error))
        }
    }

    init(_ error: StorageError) {
        self.init(Reason(error), error.description)
    }

    init(attachments error: AttachmentError) {
        self.init(Reason(error), error.description)
    }

    /// Creates the error of a failed opening, with the path, which most storage errors lack.
    package init(_ error: StorageError, openingAt path: String) {
        let text = error.description
        // The text may contain the path with its middle cut, so only the start is compared.
        let start = path.shortened(to: ErrorText.limit).prefix { $0 != "…" }
        self.init(
            Reason(error),
            text.contains(start) ? text : "\(path.shortened(to: ErrorText.limit)): \(text)",
            hint: error.isFull ? Self.diskFullHint : nil)
    }

    /// The hint for a store that cannot be opened because the disk is full.
    private static let diskFullHint =
        "opening a store for writing needs free space; with isReadOnly it can be read without. "
        + "On a full copy-on-write file system (btrfs, ZFS, bcachefs) overwriting and deleting "
        + "need space, too: truncate a large file, delete a snapshot, or add a device"

    static let closed = StoreError(.closed, "the store was closed", hint: "open it again")
}

extension StoreError: CustomStringConvertible {
    /// The message, the line of the statement with the location marked, and the hint.
    public var description: String { details.text }
}

extension StoreError.Reason {
    fileprivate init(_ reason: QueryError.Reason) {
        switch reason {
        case .syntax: self = .syntax
        case .meaning: self = .meaning
        case .argument: self = .argument
        case .limit: self = .limit
        case .conflict: self = .conflict
        case .damaged: self = .damaged
        case .timedOut: self = .timedOut
        case .cancelled: self = .cancelled
        case .failed: self = .failed
        }
    }

    fileprivate init(_ error: StorageError) {
        switch error {
        case .io: self = .disk
        case .full: self = .full
        case .corrupt: self = .damaged
        case .unsupported: self = .unsupported
        case .locked: self = .inUse
        case .notAStore, .notEmpty: self = .notAStore
        case .readOnly: self = .readOnly
        case .limit: self = .limit
        case .closed: self = .closed
        case .poisoned, .invalidKey, .noRecordForDelta, .deltaFollows, .closedByItself:
            self = .failed
        }
    }
}

extension StoreError.Reason {
    fileprivate init(_ error: AttachmentError) {
        switch error {
        case .volume(let error): self = error.code.meansFull ? .full : .disk
        case .damaged, .wrongList, .wrongChunk: self = .damaged
        case .missing: self = .missing
        case .sourceChanged, .destinationExists: self = .conflict
        case .limit: self = .limit
        case .readOnly: self = .readOnly
        case .closed: self = .closed
        }
    }
}

/// Runs `body`, converting its errors to those of the public API.
func onStore<Result>(
    _ body: () throws(QueryError) -> Result
) throws(StoreError) -> Result {
    do throws(QueryError) { return try body() } catch { throw StoreError(error) }
}
