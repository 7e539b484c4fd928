import SheafDocument
import SheafEngine
import SheafStatements
import SheafStorage
import SheafStore
import SheafSystem

/// The thread that reads commits for the clients of `GET /changes`; it runs while there are any.
///
/// It polls for new commits, so a commit costs the writer no more than without it.
final class ChangeFollower: Sendable {
    private struct State: Sendable {
        /// Clients that the thread does not know yet.
        var added: [Client] = []
        /// The bodies of the clients that the thread knows.
        var followed: [StreamBody] = []
        var thread: Thread?
        /// Whether a client has received everything, so that there is room again.
        var isDrained = false
        var isStopped = false

        var count: Int { added.count + followed.count }
    }

    private struct Client: Sendable {
        let body: StreamBody
        let since: CommitID
        let hasChanges: Bool
    }

    /// Maximum number of clients; each of them occupies a connection.
    private static let maximumCount = 16
    /// Time between two checks for new commits.
    private static let intervalNanoseconds: UInt64 = 20_000_000

    private let store: Store
    private let silenceNanoseconds: UInt64
    private let state = Monitor(State())

    init(_ store: Store, _ limits: ServerLimits) {
        self.store = store
        silenceNanoseconds = UInt64(limits.silenceSeconds) * 1_000_000_000
    }

    /// Returns the response to a request, whose body the thread writes.
    func response(to request: HTTPRequest) throws(ErrorAnswer) -> HTTPResponse {
        do throws(StoreError) { try store.refreshNow() } catch { throw ErrorAnswer(error) }
        let newest = store.queries.snapshot().log.commit
        let since = try Self.since(request) ?? newest
        guard since <= newest else {
            throw ErrorAnswer(
                400, "there is no commit \(since) yet; the newest is \(newest)",
                hint: "without 'since', the changes begin after the newest commit")
        }
        let body = StreamBody { [state] in
            state.withLock { $0.isDrained = true }
            state.signal()
        }
        try add(
            Client(body: body, since: since, hasChanges: request.parameter("fields") != "0"))
        return HTTPResponse(200, "text/event-stream; charset=utf-8", .stream(body))
    }

    /// Returns the commit after which the changes begin; nil if the request has none.
    private static func since(_ request: HTTPRequest) throws(ErrorAnswer) -> CommitID? {
        let header = request.values(of: "last-event-id").first.map { ("Last-Event-ID", $0) }
        guard let (name, text) = header ?? request.parameter("since").map({ ("since", $0) }) else {
            return nil
        }
        guard let commit = CommitID(text) else {
            throw ErrorAnswer(400, "'\(name)' is not the number of a commit: '\(text)'")
        }
        return commit
    }

    private func add(_ client: Client) throws(ErrorAnswer) {
        do throws(ThreadRefused) {
            let isAdded = try state.withLock { state throws(ThreadRefused) in
                guard state.count < Self.maximumCount, !state.isStopped else { return false }
                if state.thread == nil {
                    state.thread = try Thread(name: "sheaf-changes") { [self] in follow() }
                }
                state.added.append(client)
                return true
            }
            state.signal()
            guard !isAdded else { return }
        } catch {
            throw ErrorAnswer(500, "a thread cannot be created (error \(error.code))")
        }
        throw ErrorAnswer(
            503, "there are \(Self.maximumCount) clients of changes already",
            hint: "close pages of the inspector that are not needed")
    }

    /// Ends the thread; the bodies of all clients have ended.
    func stop() {
        let thread = state.withLock { state in
            state.isStopped = true
            return state.thread
        }
        state.signal()
        thread?.join()
    }

    private func follow() {
        var streams: [ChangeStream] = []
        while let added = next(streams) {
            let now = Clock.system.monotonicNanoseconds()
            for client in added {
                streams.append(
                    ChangeStream(
                        client.body, since: client.since, hasChanges: client.hasChanges,
                        silenceNanoseconds: silenceNanoseconds, at: now))
            }
            advance(&streams, at: now)
            streams.removeAll { $0.body.isEnded }
            wait()
        }
        for stream in streams { stream.body.end() }
    }

    /// Returns the new clients; nil if there are no clients at all, or the thread is stopped.
    private func next(_ streams: [ChangeStream]) -> [Client]? {
        state.withLock { state in
            let added = state.added
            state.followed = streams.map(\.body) + added.map(\.body)
            guard !state.followed.isEmpty, !state.isStopped else {
                if !state.isStopped { state.thread = nil }
                return nil
            }
            state.added = []
            return added
        }
    }

    private func wait() {
        let deadline = Clock.system.monotonicNanoseconds() + Self.intervalNanoseconds
        state.wait(
            until: deadline, while: { !$0.isStopped && $0.added.isEmpty && !$0.isDrained }
        ) { $0.isDrained = false }
    }

    private func advance(_ streams: inout [ChangeStream], at nanoseconds: UInt64) {
        do throws(StoreError) { try store.refreshNow() } catch {
            for index in streams.indices {
                switch error.reason {
                case .closed: streams[index].body.end()
                case .damaged, .notAStore, .unsupported: streams[index].fail(error)
                // Other errors may be temporary.
                default: streams[index].keepOpen(at: nanoseconds)
                }
            }
            return
        }
        let snapshot = store.queries.snapshot()
        for index in streams.indices {
            do throws(EngineError) {
                try streams[index].advance(to: snapshot, at: nanoseconds)
            } catch {
                streams[index].fail(StoreError(error))
            }
        }
    }
}
