public import Foundation
import Sheaf

/// Why something was not done, in the words of the reference system.
public enum DittoError: Error, Hashable, Sendable {
    /// It has to do with the store.
    case storeError(reason: StoreErrorReason)

    /// What kind of thing went wrong; new ones may come with new versions.
    public enum StoreErrorReason: Hashable, Sendable {
        /// The statement is not written as the language wants it, or means nothing.
        case queryInvalid(message: String)
        /// An argument is missing, or has no counterpart in a document.
        case queryArgumentsInvalid(message: String)
        /// The statement cannot be used for what it was handed to.
        case queryNotSupported(message: String)
        /// The statement could not be run to its end.
        case queryError(message: String)
        /// The content of a document has no counterpart in the store.
        case documentContentEncodingFailed(message: String)
        /// A statement would write in a transaction that only reads.
        case transactionReadOnly(message: String)
        /// A write would wait for the transaction in which it was asked for, or that one has ended.
        case transactionMisused(message: String)
        /// Another process, or another opening in this one, has the store.
        case persistenceDirectoryLocked(message: String)
        /// The store was closed.
        case closed(message: String)
        /// The disk, or what is written there.
        case backendError(message: String)
    }
}

/// The older name of errors.
public typealias DittoSwiftError = DittoError

extension DittoError: CustomStringConvertible, LocalizedError {
    /// What was wrong, where, and what would be right.
    public var description: String {
        switch self {
        case .storeError(let reason): reason.message
        }
    }

    public var errorDescription: String? { description }
}

extension DittoError.StoreErrorReason {
    /// What was wrong, where, and what would be right.
    public var message: String {
        switch self {
        case .queryInvalid(let message), .queryArgumentsInvalid(let message),
            .queryNotSupported(let message), .queryError(let message),
            .documentContentEncodingFailed(let message), .transactionReadOnly(let message),
            .transactionMisused(let message), .persistenceDirectoryLocked(let message),
            .closed(let message), .backendError(let message):
            message
        }
    }
}

extension DittoError {
    init(_ error: StoreError) {
        let message = error.description
        switch error.reason {
        case .syntax, .meaning: self = .storeError(reason: .queryInvalid(message: message))
        case .argument: self = .storeError(reason: .queryArgumentsInvalid(message: message))
        case .limit, .conflict, .timedOut, .cancelled:
            self = .storeError(reason: .queryError(message: message))
        case .readOnly: self = .storeError(reason: .transactionReadOnly(message: message))
        case .nestedTransaction, .transactionEnded:
            self = .storeError(reason: .transactionMisused(message: message))
        case .inUse: self = .storeError(reason: .persistenceDirectoryLocked(message: message))
        case .closed: self = .storeError(reason: .closed(message: message))
        case .missing, .damaged, .full, .disk, .notAStore, .unsupported, .failed:
            self = .storeError(reason: .backendError(message: message))
        }
    }

    /// An argument of a statement that has no counterpart in a document.
    init(argument error: Unbridgeable) {
        self = .storeError(reason: .queryArgumentsInvalid(message: "the argument \(error)"))
    }

    /// A part of a document that has no counterpart in the store.
    init(content error: Unbridgeable) {
        self = .storeError(reason: .documentContentEncodingFailed(message: error.description))
    }

    /// Errors of the store in the words of the reference system; others as they are.
    static func translated(_ error: any Error) -> any Error {
        (error as? StoreError).map { DittoError($0) } ?? error
    }
}

/// Runs what works on a store, and lets its errors out in the words of the reference system.
nonisolated(nonsending) func inDittoWords<Result>(
    _ body: nonisolated(nonsending) () async throws -> Result
) async throws -> Result {
    do { return try await body() } catch { throw DittoError.translated(error) }
}
