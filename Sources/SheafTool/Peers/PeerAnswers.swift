import Sheaf
import SheafBytes
import SheafDocument
import SheafHub
import SheafNetwork
import SheafQuery
import SheafReplication
import SheafStatements
import SheafStorage
import SheafSystem

/// The handler of requests to a running peer.
final class PeerAnswers: Sendable {
    /// Interval between checks whether peers have received a commit.
    private static let checkInterval: UInt64 = 10_000_000

    let peer: Peer
    let transport: TCPTransport
    /// The hub of the peer; nil if it is none.
    let hub: Hub?
    struct State: Sendable {
        var isStopping = false
        /// The running statements.
        var statements: Set<Task<Void, Never>> = []
        /// Number of running inspectors.
        var inspectorCount = 0
    }

    let state = Monitor(State())
    private let evaluationStop = EvaluationStop()

    init(_ peer: Peer, _ transport: TCPTransport, _ hub: Hub? = nil) {
        self.hub = hub
        self.peer = peer
        self.transport = transport
    }

    /// Cancels running statements and pending waits, which fail because the peer is stopping.
    func stop() {
        evaluationStop.set()
        let statements = state.withLock { state in
            state.isStopping = true
            return state.statements
        }
        state.broadcast()
        for statement in statements { statement.cancel() }
    }

    /// Handles one request.
    func answer(_ request: Object, _ response: ControlResponse) throws(ToolError) {
        switch try request.text("do") {
        case "list": for row in try rows() { guard response.write(row) else { return } }
        case "execute": try execute(request, response)
        case "status":
            if case .integer(let commit)? = request["commit"] {
                try wait(for: UInt64(clamping: commit), request)
            }
            _ = response.write(try status())
        case "explain": _ = response.write(try explain(request))
        case "inspect": try inspect(request, response)
        case "hub": _ = response.write(try hubStatus())
        case "upgrade": _ = response.write(try upgradeHubs())
        case "replace":
            let isForced = request["force"] == .bool(true)
            _ = response.write(try replaceLog(isForced: isForced))
        case let other: throw .failed("unknown request '\(other.shortened)'")
        }
    }

    // MARK: Statements

    private func execute(
        _ request: Object, _ response: ControlResponse
    ) throws(ToolError) {
        let text = try request.text("statement")
        var values: [String: Value] = [:]
        if case .object(let arguments)? = request["arguments"] {
            for field in arguments { values[field.name] = field.value }
        }
        let arguments = QueryArguments(values)
        let statement = try asTool { () throws in try Parser.parse(text) }
        let store = peer.store
        let result = try untilStopped { try await store.execute(DQL(verbatim: text), arguments) }
        for item in result.items {
            guard response.write(try asTool { try item.jsonString }) else { return }
        }
        for text in result.notes {
            guard response.note(text) else { return }
        }
        guard statement.isWriting, let commit = result.commitID else { return }
        var line = JSONLine()
        line.add("commit", commit)
        if case .writing = statement.kind {
            line.add("changed", result.mutatedDocumentIDs.count)
            line.add("ids", raw: Value.array(result.mutatedDocumentIDs).json)
        }
        _ = response.write(line.closed)
    }

    /// Blocks the thread until a task has ended; the task is canceled when the peer stops.
    private func untilStopped<Value: Sendable>(
        _ body: @escaping @Sendable () async throws -> Value
    ) throws(ToolError) -> Value {
        var running: Task<Void, Never>?
        defer { if let running { state.withLock { _ = $0.statements.remove(running) } } }
        return try waitFor(started: { task in
            running = task
            let isStopping = state.withLock { state in
                state.statements.insert(task)
                return state.isStopping
            }
            if isStopping { task.cancel() }
        }) {
            do { return try await body() } catch {
                guard Task.isCancelled else { throw error }
                throw ToolError.failed("the peer is stopping and has canceled the statement")
            }
        }
    }

    // MARK: Status

    private func status() throws(ToolError) -> String {
        var line = JSONLine()
        line.add("key", peer.key.description)
        line.add("commit", peer.sync.newestCommit)
        var subscriptions: [String] = []
        for subscription in peer.sync.subscriptions {
            let checksum = try asTool {
                try peer.sync.checksum(of: subscription, until: evaluationStop)
            }
            var entry = JSONLine()
            entry.add("query", subscription.query)
            entry.add("documents", checksum.count)
            entry.add("checksum", checksum.description)
            subscriptions.append(entry.closed)
        }
        line.add("subscriptions", raw: "[" + subscriptions.joined(separator: ",") + "]")
        let peers = try asTool { try peer.sync.surveys() }.map { survey in
            var entry = JSONLine()
            entry.add("peer", survey.key.description)
            entry.add("name", survey.name)
            entry.add("isConnected", survey.isConnected)
            entry.add("lastCloseReason", survey.lastCloseReason)
            entry.add("syncedUpTo", survey.syncedUpTo)
            entry.add("queries", survey.queries ?? [])
            entry.add("isReceived", survey.isReceived)
            entry.add("isSent", survey.isSent)
            entry.add("receiving", raw: Value.progress(survey.receiving).json)
            entry.add("sending", raw: Value.progress(survey.sending).json)
            entry.add("clock", survey.clock.sentences)
            entry.add("refused", raw: Self.refused(survey.refused))
            return entry.closed
        }
        line.add("peers", raw: "[" + peers.joined(separator: ",") + "]")
        let unreachable = peer.presence.unreachableAddresses.map { address in
            var entry = JSONLine()
            entry.add("address", address.address)
            entry.add("reason", address.reason)
            entry.add("attempts", address.attempts)
            entry.add("lastAttemptMilliseconds", UInt64(clamping: address.lastAttemptMilliseconds))
            entry.add("nextAttemptMilliseconds", UInt64(clamping: address.nextAttemptMilliseconds))
            return entry.closed
        }
        line.add("unreachable", raw: "[" + unreachable.joined(separator: ",") + "]")
        return line.closed
    }

    /// Waits until a commit has reached the requested peer, or all connected subscribers.
    private func wait(for commit: UInt64, _ request: Object) throws(ToolError) {
        let newest = peer.sync.newestCommit
        guard commit <= newest else {
            throw .failed("commit \(commit) does not exist yet; the newest is \(newest)")
        }
        var only: PeerKey?
        if request["peer"] != nil {
            let text = try request.text("peer")
            guard let key = PeerKey(text) else { throw KeyFile.noKey(text, of: "--peer") }
            only = key
        }
        var seconds: UInt64 = 60
        if case .integer(let given)? = request["timeoutSeconds"] {
            seconds = min(UInt64(clamping: given), ControlLimits.maximumSeconds)
        }
        let end = Clock.system.monotonicNanoseconds() + seconds * 1_000_000_000
        while try !has(commit, only) {
            let now = Clock.system.monotonicNanoseconds()
            guard now < end else {
                let lack = only.map { "\($0) does not have" } ?? "not all peers have"
                throw .failed("timeout: \(lack) commit \(commit) after \(seconds) s")
            }
            let isOver = state.wait(until: min(end, now + Self.checkInterval)) {
                !$0.isStopping
            }
            guard !isOver else { throw .failed("the peer is stopping") }
        }
    }

    private func has(_ commit: UInt64, _ only: PeerKey?) throws(ToolError) -> Bool {
        let surveys = try asTool { try peer.sync.surveys() }
        for survey in surveys where only.map({ $0 == survey.key }) ?? true {
            guard let refused = survey.refused.first(where: { $0.concerns(commit) }) else {
                continue
            }
            throw .failed("commit \(commit) was refused in part: \(refused)")
        }
        if let only { return surveys.first { $0.key == only }?.syncedUpTo ?? 0 >= commit }
        let wanting = surveys.filter { $0.isConnected && !($0.queries ?? []).isEmpty }
        return !wanting.isEmpty && wanting.allSatisfy { $0.syncedUpTo ?? 0 >= commit }
    }

    // MARK: One document

    private func explain(_ request: Object) throws(ToolError) -> String {
        let (collection, text) = (try request.text("collection"), try request.text("peer"))
        guard let key = PeerKey(text) else { throw KeyFile.noKey(text, of: "PEER") }
        let idText = try request.text("id")
        let id = (try? Value(json: idText)) ?? .string(idText)
        let found = try asTool { try peer.sync.explanation(of: collection, id, for: key) }
        guard let found else {
            let reasons = peer.presence.unreachableAddresses.map {
                "; \($0.address) is unreachable: \($0.reason)"
            }
            throw .failed(
                "no connection to \(key) since this peer was started; see 'sheaf peer list'"
                    + reasons.prefix(4).joined())
        }
        var line = JSONLine()
        line.add("document", found.presence.rawValue)
        line.add("commit", found.commit)
        line.add("isConnected", found.isConnected)
        line.add("lastCloseReason", found.lastCloseReason)
        line.add("queries", found.queryCount.map { UInt64($0) })
        line.add("matching", found.matching)
        line.add("scope", found.scope)
        line.add("isShared", found.isShared)
        line.add("mayRead", found.mayRead)
        line.add("maySend", found.maySend)
        line.add("sentUpTo", found.sentUpTo)
        line.add("acknowledgedUpTo", found.acknowledgedUpTo)
        line.add("clock", found.clock.sentences)
        line.add("quarantinedUntilMilliseconds", found.quarantinedUntil)
        line.add("aheadMilliseconds", found.aheadMilliseconds)
        line.add("refused", found.refused.map { "\($0.reason)" })
        return line.closed
    }

    /// Returns the documents refused by a peer, as JSON.
    private static func refused(_ writes: [RefusedWrite]) -> String {
        let entries = writes.map { write in
            var entry = JSONLine()
            entry.add("collection", write.collection)
            entry.add("id", raw: write.documentID.json)
            entry.add("reason", "\(write.reason)")
            return entry.closed
        }
        return "[" + entries.joined(separator: ",") + "]"
    }
}

extension Object {
    /// Returns the string in a field; throws if there is none.
    func text(_ name: String) throws(ToolError) -> String {
        guard case .string(let text)? = self[name] else {
            throw .failed("the field '\(name.shortened)' is missing or not a string")
        }
        return text
    }

    /// Returns the integer in a field, or nil.
    func number(_ name: String) -> Int64? {
        if case .integer(let number)? = self[name] { number } else { nil }
    }

    /// Whether a field is true.
    func isTrue(_ name: String) -> Bool {
        if case .bool(true)? = self[name] { true } else { false }
    }

    /// Returns the objects in an array field.
    func objects(_ name: String) -> [Object] {
        guard case .array(let values)? = self[name] else { return [] }
        return values.compactMap { if case .object(let object) = $0 { object } else { nil } }
    }

    /// Returns the strings in an array field.
    func texts(_ name: String) -> [String] {
        guard case .array(let values)? = self[name] else { return [] }
        return values.compactMap { if case .string(let text) = $0 { text } else { nil } }
    }
}
