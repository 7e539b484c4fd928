import Foundation
import Synchronization

/// The handler for errors of calls that cannot throw.
final class ErrorHandler: Sendable {
    typealias Handler = @Sendable (any Error) -> Void

    /// The handler in a struct: a bare closure in a `Mutex` gains a thunk on each access.
    private struct Current: Sendable {
        var handler: Handler
    }

    private let current = Mutex(Current(handler: ErrorHandler.printToStandardError))

    var handler: Handler {
        get { current.withLock { $0.handler } }
        set { current.withLock { $0.handler = newValue } }
    }

    /// Passes an error to the handler.
    func report(_ error: any Error) {
        handler(DittoError.translated(error))
    }

    /// Returns the result of `body`, or `fallback` after passing its error to the handler.
    func returning<Result>(_ fallback: Result, _ body: () throws -> Result) -> Result {
        do {
            return try body()
        } catch {
            report(error)
            return fallback
        }
    }

    private static let printToStandardError: Handler = { error in
        FileHandle.standardError.write(Data("\(error)\n".utf8))
    }
}
