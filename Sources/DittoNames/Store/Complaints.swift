import Foundation
import Synchronization

/// Takes the errors of calls that have no way to throw them.
final class Complaints: Sendable {
    typealias Handler = @Sendable (any Error) -> Void

    private let current = Mutex<Handler>(Complaints.printToStandardError)

    var handler: Handler {
        get { current.withLock { $0 } }
        set { current.withLock { $0 = newValue } }
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
