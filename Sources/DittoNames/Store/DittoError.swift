public import Foundation
import Sheaf
import SheafNetwork

/// An error in the terms of the reference system.
public enum DittoError: Error, Hashable, Sendable {
    /// An error of the store.
    case storeError(reason: StoreErrorReason)
    /// An invalid argument of a call.
    case validationError(reason: ValidationErrorReason)
    /// An invalid key or identity of the peer.
    case authenticationError(message: String)
    /// A transport configuration that cannot be used.
    case transportError(message: String)
    /// An unsupported feature; the message names the alternative.
    case unsupportedError(message: String)

    /// The reason why an argument is invalid.
    public enum ValidationErrorReason: Hashable, Sendable {
        /// The argument exceeds a size limit.
        case sizeLimitExceeded(message: String)
        /// The argument has a value that JSON cannot represent.
        case notJSONCompatible(message: String)
        /// The argument is not JSON, or not a JSON object.
        case invalidJSON(message: String)
    }

    /// The kind of a store error; later versions may add more.
    public enum StoreErrorReason: Hashable, Sendable {
        /// The statement has a syntax error or is not meaningful.
        case queryInvalid(message: String)
        /// An argument of the statement is missing or cannot be converted.
        case queryArgumentsInvalid(message: String)
        /// The statement is not supported by the call it was passed to.
        case queryNotSupported(message: String)
        /// The statement failed.
        case queryError(message: String)
        /// The content of a document cannot be converted.
        case documentContentEncodingFailed(message: String)
        /// The attachment token is invalid.
        case attachmentTokenInvalid(message: String)
        /// A statement writes in a read-only transaction or store.
        case transactionReadOnly(message: String)
        /// A write that would deadlock in a transaction, or a use of a transaction that has ended.
        case transactionMisused(message: String)
        /// The store is in use by another process, or opened twice in this one.
        case persistenceDirectoryLocked(message: String)
        /// The store was closed.
        case closed(message: String)
        /// The store cannot be read or written, for example because the disk failed.
        case backendError(message: String)
    }
}

/// The older name of `DittoError`.
public typealias DittoSwiftError = DittoError

extension DittoError: CustomStringConvertible, LocalizedError {
    /// The message: the fault, its location, and the remedy.
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

    /// The message, for `localizedDescription`.
    public var errorDescription: String? { description }
}

extension DittoError.StoreErrorReason {
    /// The message: the fault, its location, and the remedy.
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
        case .limit, .conflict, .notFound, .timedOut, .cancelled:
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

    /// Creates the error for an argument of a statement that cannot be converted.
    init(argument error: Unbridgeable) {
        self = .storeError(reason: .queryArgumentsInvalid(message: "the argument \(error)"))
    }

    /// Creates the error for document content that cannot be converted.
    init(content error: Unbridgeable) {
        self = .storeError(reason: .documentContentEncodingFailed(message: error.description))
    }

    /// Translates errors of the store and the network; returns other errors unchanged.
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

    /// Returns the error for an unsupported feature.
    static func unsupported(_ message: String) -> DittoError { .unsupportedError(message: message) }

    /// Returns the error for a call that needs peers on a database without them.
    static func withoutPeers(_ what: String) -> DittoError {
        .unsupportedError(
            message: "\(what) requires a database opened for peers: use "
                + "Ditto.open(config:), or Ditto(over:) with a Peer")
    }
}

/// Runs `body` and translates its errors to the terms of the reference system.
nonisolated(nonsending) func inDittoWords<Result>(
    _ body: nonisolated(nonsending) () async throws -> Result
) async throws -> Result {
    do { return try await body() } catch { throw DittoError.translated(error) }
}

/// Runs a synchronous `body` and translates its errors to the terms of the reference system.
func inDittoWords<Result>(_ body: () throws -> Result) throws -> Result {
    do { return try body() } catch { throw DittoError.translated(error) }
}
