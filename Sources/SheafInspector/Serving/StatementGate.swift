import Synchronization

/// Limits the number of statements that run at once; further ones wait in order.
///
/// A statement occupies a thread until it ends, and the other requests need one meanwhile.
package final class StatementGate: Sendable {
    private struct State: Sendable {
        var free: Int
        /// The statements that wait, the oldest one first.
        var waiting: [(number: UInt64, continuation: CheckedContinuation<Void, any Error>)] = []
        var next: UInt64 = 0
    }

    /// Maximum number of statements that run at once.
    package let maximumCount: Int
    private let state: Mutex<State>

    package init(_ maximumCount: Int) {
        precondition(maximumCount > 0, "Without a free thread, no statement would ever run.")
        self.maximumCount = maximumCount
        state = Mutex(State(free: maximumCount))
    }

    /// Number of statements that wait.
    package var waitingCount: Int { state.withLock { $0.waiting.count } }

    /// Runs a statement once there is room; throws if its task is canceled before.
    package nonisolated(nonsending) func run<Result>(
        _ statement: nonisolated(nonsending) () async throws -> Result
    ) async throws -> Result {
        try await enter()
        defer { leave() }
        return try await statement()
    }

    private nonisolated(nonsending) func enter() async throws {
        let number = state.withLock { state in
            state.next += 1
            return state.next
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let isEntering = state.withLock { state -> Bool? in
                    // A later cancellation finds the statement among those that wait.
                    guard !Task.isCancelled else { return nil }
                    guard state.free > 0 else {
                        state.waiting.append((number, continuation))
                        return false
                    }
                    state.free -= 1
                    return true
                }
                switch isEntering {
                case true?: continuation.resume()
                case false?: break
                case nil: continuation.resume(throwing: CancellationError())
                }
            }
        } onCancel: {
            let canceled = state.withLock { state in
                state.waiting.firstIndex { $0.number == number }
                    .map { state.waiting.remove(at: $0).continuation }
            }
            canceled?.resume(throwing: CancellationError())
        }
    }

    private func leave() {
        let following = state.withLock { state in
            guard !state.waiting.isEmpty else {
                state.free += 1
                return CheckedContinuation<Void, any Error>?.none
            }
            return state.waiting.removeFirst().continuation
        }
        following?.resume()
    }
}
