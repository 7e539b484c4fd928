public import Foundation
import Sheaf
import SheafNetwork

/// Why something was not done, in the words of the reference system.
public enum DittoError: Error, Hashable, Sendable {
    /// It has to do with the store.
    case storeError(reason: StoreErrorReason)
    /// Something that was handed over cannot be taken.
    case validationError(reason: ValidationErrorReason)
    /// The key or the identity of the peer is not what it has to be.
    case authenticationError(message: String)
    /// Other peers cannot be reached in this way.
    case transportError(message: String)
    /// What was asked for is not here; the message says what to use.
    case unsupportedError(message: String)

    /// What is wrong with what was handed over.
    public enum ValidationErrorReason: Hashable, Sendable {
        /// It is longer than it may be.
        case sizeLimitExceeded(message: String)
        /// It has something that JSON cannot say.
        case notJSONCompatible(message: String)
        /// It is no JSON, or no object.
        case invalidJSON(message: String)
    }

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
        /// This is no token of an attachment.
        case attachmentTokenInvalid(message: String)
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
        case .validationError(.sizeLimitExceeded(let message)),
            .validationError(.notJSONCompatible(let message)),
            .validationError(.invalidJSON(let message)), .authenticationError(let message),
            .transportError(let message), .unsupportedError(let message):
            message
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
            .documentContentEncodingFailed(let message), .attachmentTokenInvalid(let message),
            .transactionReadOnly(let message),
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
        switch error {
        case let error as StoreError: DittoError(error)
        case let error as NetworkError: DittoError(error)
        default: error
        }
    }

    init(_ error: NetworkError) {
        switch error.rule {
        case .key, .keyFile: self = .authenticationError(message: error.description)
        default: self = .transportError(message: error.description)
        }
    }

    /// Something that is not here.
    static func unsupported(_ message: String) -> DittoError { .unsupportedError(message: message) }

    /// Something that needs peers, where there are none.
    static func withoutPeers(_ what: String) -> DittoError {
        .unsupportedError(
            message: "\(what) needs a database that was opened for peers: open it with "
                + "Ditto.open(config:), or use Ditto(over:) with a Peer")
    }
}

/// Runs what works on a store, and lets its errors out in the words of the reference system.
nonisolated(nonsending) func inDittoWords<Result>(
    _ body: nonisolated(nonsending) () async throws -> Result
) async throws -> Result {
    do { return try await body() } catch { throw DittoError.translated(error) }
}

/// The same for what does not wait.
func inDittoWords<Result>(_ body: () throws -> Result) throws -> Result {
    do { return try body() } catch { throw DittoError.translated(error) }
}
