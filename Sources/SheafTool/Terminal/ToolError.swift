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
    /// An error whose message was already printed.
    case reported(ExitCode)
    /// An error of the store at a path; nil if it may concern either of two stores.
    case storage(StorageError, at: String?)
    /// An error of a statement run on the store at a path.
    case statement(StoreError, at: String)

    var message: String { message(help: "sheaf help") }

    /// Returns the message; it may refer to an entry of the help, which `help` prints.
    ///
    /// With `showsLocation`, it has the line and column in a statement.
    func message(help: String, showsLocation: Bool = true) -> String {
        switch self {
        case .usage(let message), .failed(let message), .damaged(let message): return message
        case .reported: return ""
        case .storage(let error, let path): return Self.message(error, at: path)
        case .statement(let error, let path):
            let text = error.terminalText(help: help, showsLocation: showsLocation)
            return switch error.reason {
            case .syntax, .meaning, .argument, .limit, .conflict: text
            // Other errors concern the store, so the message names it.
            default: "\(path.shortened(to: ErrorText.limit)): \(text)"
            }
        }
    }

    var exitCode: ExitCode {
        switch self {
        case .usage: .usage
        case .reported(let code): code
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

    /// Returns the error with its line in a file, in which its statement begins on `line`.
    func located(in file: String, from line: Int) -> ToolError {
        if case .reported = self { return self }
        var line = line
        if case .statement(let error, _) = self, let location = error.location {
            line += location.line - 1
        }
        let text =
            "\(file.shortened):\(line): " + message(help: "sheaf help", showsLocation: false)
        return switch exitCode {
        case .usage: .usage(text)
        case .damaged: .damaged(text)
        default: .failed(text)
        }
    }

    /// Prefixes the path of the store, unless the error contains it already.
    private static func message(_ error: StorageError, at path: String?) -> String {
        if case .notADirectory(let file) = error {
            let file = file.shortened(to: ErrorText.limit)
            return "\(file) is a file, and a store is a directory; "
                + "sheaf import NEWSTORE COLLECTION \(file) reads its rows into one"
        }
        guard let path else { return error.description }
        switch error {
        case .io(let refusal) where refusal.file == path: return error.description
        case .full(let refusal) where refusal.file == path: return error.description
        case .locked, .notAStore, .notEmpty, .refused: return error.description
        default: return "\(path.shortened(to: ErrorText.limit)): \(error)"
        }
    }
}

/// Throws if a regular file is at the path of a store.
///
/// Errors of statements have no such case, only a text for programs.
func checkIsNoFile(_ path: String) throws(ToolError) {
    guard !PosixPath.isRegularFile(path) else {
        throw .storage(.notADirectory(path: path), at: path)
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
