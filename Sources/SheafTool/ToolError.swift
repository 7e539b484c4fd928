import SheafBytes
import SheafQuery
import SheafStorage

/// Why a command ends before it is done.
enum ToolError: Error {
    /// The command line makes no sense; the sentence says what would.
    case usage(String)
    case failed(String)
    /// What is damaged.
    case damaged(String)
    /// What went wrong with the store at a path; none where it may be either of two.
    case storage(StorageError, at: String?)
    /// Why a statement could not be run against the store at a path.
    case statement(QueryError, at: String)

    var message: String {
        switch self {
        case .usage(let message), .failed(let message), .damaged(let message): message
        case .storage(let error, let path): Self.message(error, at: path)
        case .statement(let error, let path):
            switch error.reason {
            // They are about the store, and people ask which store.
            case .damaged, .timedOut, .cancelled, .failed:
                "\(path.shortened(to: ErrorText.limit)): \(error.terminalText)"
            default: error.terminalText
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
            case .meaning, .limit, .conflict, .timedOut, .cancelled, .failed: .failed
            }
        case .failed, .storage: .failed
        }
    }

    /// Errors name files of the store, and people ask which store.
    private static func message(_ error: StorageError, at path: String?) -> String {
        guard let path else { return error.description }
        switch error {
        case .io(let refusal) where refusal.file == path: return error.description
        case .full(let refusal) where refusal.file == path: return error.description
        case .locked, .notAStore, .notEmpty: return error.description
        default: return "\(path.shortened(to: ErrorText.limit)): \(error)"
        }
    }
}

/// Runs calls on the store at `path` and lets their errors out as the tool's.
func onStore<Value>(
    at path: String?, _ body: () throws(StorageError) -> Value
) throws(ToolError) -> Value {
    do throws(StorageError) {
        return try body()
    } catch {
        throw .storage(error, at: path)
    }
}
