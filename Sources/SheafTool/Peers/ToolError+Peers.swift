import Sheaf
import SheafHub
import SheafInspector
import SheafNetwork

extension ToolError {
    /// Creates the error for an error thrown by the store or the network.
    init(_ error: any Error) {
        switch error {
        case let error as ToolError: self = error
        case let error as StoreError: self = Self(error)
        case let error as InspectorError: self = .failed(TerminalText.visible(error.message))
        case let error as HubError: self = .failed(TerminalText.visible(error.message))
        case let error as NetworkError: self = .failed(TerminalText.visible(error.text))
        default: self = .failed(TerminalText.visible("\(error)"))
        }
    }

    /// Creates the error for a statement or a store that fails.
    private init(_ error: StoreError) {
        switch error.reason {
        case .syntax, .argument: self = .usage(error.terminalText)
        case .damaged: self = .damaged(error.terminalText)
        default: self = .failed(error.terminalText)
        }
    }
}

/// Runs `body` and converts its errors to errors of the tool.
func asTool<Value>(_ body: () throws -> Value) throws(ToolError) -> Value {
    do { return try body() } catch { throw ToolError(error) }
}
