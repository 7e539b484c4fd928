import SheafBytes
import SheafQuery
package import SheafStorage

/// Why a store did not do what it was asked to.
public struct StoreError: Error, Equatable, Sendable {
    /// What kind of thing went wrong; new ones may come with new versions.
    public enum Reason: Hashable, Sendable {
        /// The statement is not written as the language wants it.
        case syntax
        /// The statement is written well and means nothing, or nothing that is allowed here.
        case meaning
        /// An argument is missing, or is not what it has to be.
        case argument
        /// Something is more than a limit allows.
        case limit
        /// What was asked for cannot be done to the documents that there are.
        case conflict
        /// What was asked for is not here, and has to be fetched from somebody who has it.
        case missing
        /// Bytes on the disk are not what was written.
        case damaged
        /// The disk has no room.
        case full
        /// The system refused to read or write a file.
        case disk
        /// Another process, or another opening in this one, has the store.
        case inUse
        /// There is no store at this place, or something else is there.
        case notAStore
        /// The store needs a newer program.
        case unsupported
        /// The store or the transaction only reads.
        case readOnly
        /// A write would wait for the transaction in which it was asked for, and so for ever.
        case nestedTransaction
        /// The transaction has ended already.
        case transactionEnded
        /// The statement took longer than `dql_request_timeout_seconds` allows, or one transaction kept
        /// it waiting for longer than `transaction_wait_limit_ms`.
        case timedOut
        /// The task that ran the statement was cancelled.
        case cancelled
        /// The store was closed.
        case closed
        /// What the statement runs in has failed.
        case failed
    }

    /// Where in a statement something is wrong.
    public struct Place: Equatable, Sendable {
        /// From 1.
        public let line: Int
        /// From 1, in characters.
        public let column: Int
    }

    private struct Details: Equatable, Sendable {
        let reason: Reason
        let message: String
        let hint: String?
        var place: Place?
        let text: String
    }

    /// A reference: whatever may be one of these has room for it, results of observers among them.
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
    /// What was wrong, and where.
    public var message: String { details.message }
    /// What would be right, where that can be said.
    public var hint: String? { details.hint }
    /// Where in the statement it was wrong, if it was there.
    public var place: Place? { details.place }

    init(_ reason: Reason, _ message: String, hint: String? = nil) {
        let message = message.shortened(to: ErrorText.messageLimit)
        let hint = hint?.shortened(to: ErrorText.messageLimit)
        let text = hint.map { "\(message)\n\($0)" } ?? message
        box = .details(Details(reason: reason, message: message, hint: hint, text: text))
    }

    init(_ error: QueryError) {
        let place = error.excerpt.map { Place(line: $0.line, column: $0.column) }
        box = .details(
            Details(
                reason: Reason(error.reason), message: error.message, hint: error.hint,
                place: place, text: error.description))
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

    /// What keeps a store from being opened, with its path: most errors name files within it alone.
    package init(_ error: StorageError, openingAt path: String) {
        let text = error.description
        // The text may have the path of a file in the store, with its middle cut, so only the start is compared.
        let start = path.shortened(to: ErrorText.limit).prefix { $0 != "…" }
        self.init(
            Reason(error),
            text.contains(start) ? text : "\(path.shortened(to: ErrorText.limit)): \(text)",
            hint: error.isFull ? Self.roomHint : nil)
    }

    /// What to do when a store cannot be opened for want of room.
    private static let roomHint =
        "opening a store for writing needs some room; opened with isReadOnly it can be read without. "
        + "On a full copy-on-write file system (btrfs, ZFS, bcachefs) overwriting and deleting need "
        + "room as well: truncate a large file that nothing needs, delete a snapshot, or add a device"

    static let closed = StoreError(.closed, "the store was closed", hint: "open it again")
}

extension StoreError: CustomStringConvertible {
    /// The message, the line of the statement with a mark below it, and the hint.
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
        case .poisoned, .invalidKey, .nothingToExtend, .extended, .closedByItself: self = .failed
        }
    }
}

extension StoreError.Reason {
    fileprivate init(_ error: AttachmentError) {
        switch error {
        case .volume(let error): self = error.code.meansFull ? .full : .disk
        case .damaged, .wrongList, .wrongChunk: self = .damaged
        case .missing: self = .missing
        case .changed, .occupied: self = .conflict
        case .limit: self = .limit
        case .readOnly: self = .readOnly
        case .closed: self = .closed
        }
    }
}

/// Runs what works on a store, and lets its errors out as those that users see.
func onStore<Result>(
    _ body: () throws(QueryError) -> Result
) throws(StoreError) -> Result {
    do throws(QueryError) { return try body() } catch { throw StoreError(error) }
}
