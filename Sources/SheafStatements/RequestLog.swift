import SheafDocument
import SheafQuery
import SheafStorage
package import SheafSystem
import Synchronization

/// The running and the last finished statements, and counters of all statements.
package final class RequestLog: Sendable {
    fileprivate struct State: Sendable {
        var next: UInt64 = 1
        /// Running requests, in order of their start.
        var running: [Request] = []
        var finished = RequestHistory()
        var failures = 0
        var parsings = 0
        var observerFailures = 0
        var rows = 0
        var mutations = 0
        var nanoseconds: UInt64 = 0
        var wall = WallTime()
    }

    private let state = Mutex(State())
    let clock: Clock

    package init(_ clock: Clock) {
        self.clock = clock
    }

    /// Counts a parsed statement.
    func countParsing() {
        state.withLock { $0.parsings += 1 }
    }

    /// Counts an observer whose callback has thrown, or whose statement has failed.
    package func countObserverFailure() {
        state.withLock { $0.observerFailures += 1 }
    }

    /// Records the start of a statement; returns its number.
    func begin(_ statement: Statement) -> UInt64 {
        let nanoseconds = clock.monotonicNanoseconds()
        return state.withLock { state in
            let request = state.request(statement, from: nanoseconds, clock)
            state.running.append(request)
            return request.number
        }
    }

    /// Records the end of a statement, retaining the last `count`; returns its nanoseconds.
    func end(
        _ number: UInt64, rows: Int, mutations: Int, error: String?, keeping count: Int
    ) -> UInt64 {
        let nanoseconds = clock.monotonicNanoseconds()
        return state.withLock { state in
            guard let index = state.running.lastIndex(where: { $0.number == number }) else {
                return 0
            }
            var request = state.running.remove(at: index)
            request.nanoseconds = nanoseconds &- request.startNanoseconds
            request.resultCount = rows
            request.error = error
            state.failures += error == nil ? 0 : 1
            state.mutations += mutations
            let nanoseconds = request.nanoseconds
            state.finish(request, keeping: count)
            return nanoseconds
        }
    }

    /// Records a statement too short to be shown as running; returns its nanoseconds.
    func record(
        _ statement: Statement, from start: UInt64, rows: Int, mutations: Int, keeping count: Int
    ) -> UInt64 {
        let nanoseconds = clock.monotonicNanoseconds() &- start
        state.withLock { state in
            var request = state.request(statement, from: start, clock)
            request.nanoseconds = nanoseconds
            request.resultCount = rows
            state.mutations += mutations
            state.finish(request, keeping: count)
        }
        return nanoseconds
    }

    /// Returns the rows of the running statements, the oldest first.
    func running() -> [Object] {
        let nanoseconds = clock.monotonicNanoseconds()
        return state.withLock { state in
            state.running.map { request in
                var request = request
                request.nanoseconds = nanoseconds &- request.startNanoseconds
                return request.row(state: "running")
            }
        }
    }

    /// Returns the rows of the last `count` finished statements, the oldest first.
    func history(_ count: Int) -> [Object] {
        state.withLock { state in
            state.finished.last(count).map {
                $0.row(state: $0.error == nil ? "completed" : "failed")
            }
        }
    }

    /// Returns the counters with their names in `system:metrics`.
    func metrics() -> [(name: String, value: Int64)] {
        state.withLock { state in
            [
                ("requests", Int64(clamping: state.next - 1)),
                ("requests_active", Int64(clamping: state.running.count)),
                ("requests_failed", Int64(clamping: state.failures)),
                ("request_nanoseconds", Int64(clamping: state.nanoseconds)),
                ("rows_returned", Int64(clamping: state.rows)),
                ("statements_parsed", Int64(clamping: state.parsings)),
                ("observers_failed", Int64(clamping: state.observerFailures)),
                ("documents_mutated", Int64(clamping: state.mutations)),
            ]
        }
    }
}

extension RequestLog.State {
    /// Creates the request of a statement that has begun.
    @inline(__always)
    fileprivate mutating func request(
        _ statement: Statement, from nanoseconds: UInt64, _ clock: Clock
    ) -> Request {
        defer { next += 1 }
        return Request(
            number: next, text: statement.text,
            startMilliseconds: wall.milliseconds(at: nanoseconds, clock),
            startNanoseconds: nanoseconds)
    }

    /// Counts a finished request and adds it to the history.
    @inline(__always)
    fileprivate mutating func finish(_ request: consuming Request, keeping count: Int) {
        rows += request.resultCount
        nanoseconds &+= request.nanoseconds
        finished.append(request, keeping: count)
    }
}
