import SheafDocument
import SheafQuery
import Synchronization

/// The statements that run, those that ran last, and how many there have been.
final class RequestLog: Sendable {
    private struct Request: Sendable {
        let number: UInt64
        let text: String
        let startMilliseconds: UInt64
        let startNanoseconds: UInt64
        var nanoseconds: UInt64 = 0
        var resultCount = 0
        var error: String?
    }

    private struct State: Sendable {
        var next: UInt64 = 1
        /// In the order in which they began.
        var running: [Request] = []
        /// The oldest first.
        var finished: [Request] = []
        var failures = 0
        var parsings = 0
        var observerFailures = 0
        var rows = 0
        var mutations = 0
        var nanoseconds: UInt64 = 0
    }

    private let state = Mutex(State())

    /// Longer texts are mostly data; their beginnings say enough.
    private static let maximumTextLength = 4_096

    /// Notes that a text is parsed, which is not known from before.
    func noteParsing() {
        state.withLock { $0.parsings += 1 }
    }

    /// Notes that the callback of an observer has thrown, or there was no result for it.
    func noteObserverFailure() {
        state.withLock { $0.observerFailures += 1 }
    }

    /// Notes that a statement begins; returns its number.
    func begin(_ text: String, wallMilliseconds: UInt64, nanoseconds: UInt64) -> UInt64 {
        let kept =
            text.utf8.count <= Self.maximumTextLength
            ? text : String(decoding: text.utf8.prefix(Self.maximumTextLength), as: UTF8.self)
        return state.withLock { state in
            let number = state.next
            state.next += 1
            state.running.append(
                Request(
                    number: number, text: kept, startMilliseconds: wallMilliseconds,
                    startNanoseconds: nanoseconds))
            return number
        }
    }

    /// Notes what became of a statement, and keeps so many of the last ones; returns how long it took.
    @discardableResult
    func end(
        _ number: UInt64, nanoseconds: UInt64, rows: Int, mutations: Int, error: String?,
        keeping count: Int
    ) -> UInt64 {
        state.withLock { state in
            guard let place = state.running.lastIndex(where: { $0.number == number }) else {
                return 0
            }
            var request = state.running.remove(at: place)
            request.nanoseconds = nanoseconds &- request.startNanoseconds
            request.resultCount = rows
            request.error = error
            state.failures += error == nil ? 0 : 1
            state.rows += rows
            state.mutations += mutations
            state.nanoseconds &+= request.nanoseconds
            state.finished.append(request)
            // Twice as many are let in before the old ones go, so that each costs nothing.
            let (most, isUnlimited) = count.multipliedReportingOverflow(by: 2)
            if !isUnlimited, state.finished.count > most {
                state.finished.removeFirst(state.finished.count - count)
            }
            return request.nanoseconds
        }
    }

    /// The statements that run now, the oldest first.
    func running(nanoseconds: UInt64) -> [Object] {
        state.withLock { state in
            state.running.map { request in
                var request = request
                request.nanoseconds = nanoseconds &- request.startNanoseconds
                return Self.row(request, state: "running")
            }
        }
    }

    /// So many of the statements that ran last, the oldest first.
    func history(_ count: Int) -> [Object] {
        state.withLock { state in
            state.finished.suffix(count).map { request in
                Self.row(request, state: request.error == nil ? "completed" : "failed")
            }
        }
    }

    /// What has been counted.
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

    private static func row(_ request: Request, state: String) -> Object {
        var row: Object = [
            "_id": .integer(Int64(clamping: request.number)), "text": .string(request.text),
            "state": .string(state),
            "startTime": .integer(Int64(clamping: request.startMilliseconds)),
            "elapsedNanoseconds": .integer(Int64(clamping: request.nanoseconds)),
            "resultCount": .integer(Int64(clamping: request.resultCount)),
        ]
        if let error = request.error { row["error"] = .string(error) }
        return row
    }
}
