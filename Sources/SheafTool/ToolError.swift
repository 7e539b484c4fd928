import SheafStorage

/// Why a command ends before it is done.
enum ToolError: Error {
    /// The command line makes no sense; the sentence says what would.
    case usage(String)
    case failed(String)
    case storage(StorageError)

    var message: String {
        switch self {
        case .usage(let message), .failed(let message): message
        case .storage(let error): error.description
        }
    }

    var exitCode: ExitCode {
        switch self {
        case .usage: .usage
        case .storage(.corrupt): .damaged
        case .failed, .storage: .failed
        }
    }
}

/// Runs calls on a store and lets their errors out as the tool's.
func onStore<Value>(
    _ body: () throws(StorageError) -> Value
) throws(ToolError) -> Value {
    do throws(StorageError) {
        return try body()
    } catch {
        throw .storage(error)
    }
}
