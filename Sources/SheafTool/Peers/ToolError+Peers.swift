import Sheaf
import SheafNetwork
import SheafQuery

extension ToolError {
    /// Creates the error for an error thrown by the store or the network.
    init(_ error: any Error) {
        switch error {
        case let error as ToolError: self = error
        case let error as StoreError:
            let lines = error.description.split(separator: "\n", omittingEmptySubsequences: false)
            let text = lines.map { TerminalText.visible(String($0)) }.joined(separator: "\n")
            switch error.reason {
            case .syntax, .argument: self = .usage(text)
            case .damaged: self = .damaged(text)
            default: self = .failed(text)
            }
        case let error as QueryError: self = Self(error)
        case let error as NetworkError: self = .failed(TerminalText.visible(error.text))
        default: self = .failed(TerminalText.visible("\(error)"))
        }
    }

    /// Creates the error for a statement that cannot be run.
    private init(_ error: QueryError) {
        switch error.reason {
        case .syntax, .argument: self = .usage(error.terminalText)
        default: self = .failed(error.terminalText)
        }
    }
}

/// Runs `body` and converts its errors to errors of the tool.
func asTool<Value>(_ body: () throws -> Value) throws(ToolError) -> Value {
    do { return try body() } catch { throw ToolError(error) }
}
