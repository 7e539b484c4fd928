import Foundation
import Synchronization

/// Takes the errors of calls that have no way to throw them.
final class Complaints: Sendable {
    typealias Handler = @Sendable (any Error) -> Void

    /// A closure that is in no type of its own would be wrapped once more with each look at it.
    private struct Current: Sendable {
        var handler: Handler
    }

    private let current = Mutex(Current(handler: Complaints.printToStandardError))

    var handler: Handler {
        get { current.withLock { $0.handler } }
        set { current.withLock { $0.handler = newValue } }
    }

    /// Hands over an error.
    func complain(_ error: any Error) {
        handler(DittoError.translated(error))
    }

    /// Returns what `body` returns, or `fallback` where it throws, and then hands over the error.
    func returning<Result>(_ fallback: Result, _ body: () throws -> Result) -> Result {
        do {
            return try body()
        } catch {
            complain(error)
            return fallback
        }
    }

    private static let printToStandardError: Handler = { error in
        FileHandle.standardError.write(Data("\(error)\n".utf8))
    }
}
