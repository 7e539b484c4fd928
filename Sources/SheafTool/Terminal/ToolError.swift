import SheafBytes
import SheafDocument
import SheafQuery
import SheafStorage

/// An error that ends a command.
enum ToolError: Error {
    /// Invalid usage; the message states the correct form.
    case usage(String)
    case failed(String)
    /// Damage found in a store.
    case damaged(String)
    /// An error of the store at a path; nil if it may concern either of two stores.
    case storage(StorageError, at: String?)
    /// An error of a statement run on the store at a path.
    case statement(StoreError, at: String)

    var message: String {
        switch self {
        case .usage(let message), .failed(let message), .damaged(let message): message
        case .storage(let error, let path): Self.message(error, at: path)
        case .statement(let error, let path):
            switch error.reason {
            case .syntax, .meaning, .argument, .limit, .conflict: error.terminalText
            // Other errors concern the store, so the message names it.
            default: "\(path.shortened(to: ErrorText.limit)): \(error.terminalText)"
            }
        }
    }

    var exitCode: ExitCode {
        switch self {
        case .usage: .usage
        case .storage(.corrupt, _), .damaged: .damaged
        case .statement(let error, _):
            switch error.reason {
            case .syntax, .argument: .usage
            case .damaged: .damaged
            default: .failed
            }
        case .failed, .storage: .failed
        }
    }

    /// Prefixes the path of the store, unless the error contains it already.
    private static func message(_ error: StorageError, at path: String?) -> String {
        guard let path else { return error.description }
        switch error {
        case .io(let refusal) where refusal.file == path: return error.description
        case .full(let refusal) where refusal.file == path: return error.description
        case .locked, .notAStore, .notEmpty, .refused: return error.description
        default: return "\(path.shortened(to: ErrorText.limit)): \(error)"
        }
    }
}

/// Runs `body` and converts its errors to errors of the tool for the store at `path`.
func onStore<Value>(
    at path: String?, _ body: () throws(StorageError) -> Value
) throws(ToolError) -> Value {
    do throws(StorageError) {
        return try body()
    } catch {
        throw .storage(error, at: path)
    }
}

/// Runs `body` and converts its errors to errors of the tool for the store at `path`.
func onStatement<Value>(
    at path: String, _ body: () throws(StoreError) -> Value
) throws(ToolError) -> Value {
    do throws(StoreError) {
        return try body()
    } catch {
        throw .statement(error, at: path)
    }
}
