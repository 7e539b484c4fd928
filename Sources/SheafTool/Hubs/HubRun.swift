import Sheaf
import SheafDocument
import SheafHub
import SheafNetwork
import SheafSystem

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// The execution of `sheaf hub serve`.
struct HubRun {
    /// Interval between reports of the progress of a long sync.
    private static let progressMilliseconds: UInt64 = 1_000

    private let setup: HubSetup
    private let events: PeerEvents

    init(_ arguments: Arguments) throws(ToolError) {
        setup = try HubSetup(arguments)
        events = PeerEvents(isJSON: arguments.has("json"))
    }

    /// Opens the hub, runs it, and drains it after a signal.
    func run() throws(ToolError) -> ExitCode {
        let signals = try StopSignals()
        DescriptorLimit.raise()
        let transport = try asTool { try TCPTransport(setup.peer.network) }
        let (path, engine, options) = (setup.peer.path, setup.engine, setup.options)
        let configuration = setup.peer.configuration(transport)
        let events = events
        try checkIsNoFile(path)
        let hub: Hub
        do throws(ToolError) {
            hub = try waitFor(started: { task in signals.onFirst { task.cancel() } }) {
                try await Hub.open(
                    at: path, configuration: configuration, engine: engine, options: options
                ) { events.record($0) }
            }
        } catch {
            // It has not begun, so there is nothing to drain.
            guard !signals.hasCome else { return .ok }
            throw error
        }
        hub.peer.presence.onTransportEvent { events.writeEvent($0) }
        hub.peer.presence.onKeyConflict { events.record($0) }
        let result: Result<ExitCode, ToolError>
        do throws(ToolError) {
            result = .success(try run(hub, transport, signals))
        } catch {
            result = .failure(error)
        }
        try waitFor { try await hub.close() }
        return try result.get()
    }

    private func run(
        _ hub: Hub, _ transport: TCPTransport, _ signals: StopSignals
    ) throws(ToolError) -> ExitCode {
        if let port = hub.healthPort, let address = setup.options.healthAddress {
            events.recordHealth(
                at: address.contains(":") ? "[\(address)]:\(port)" : "\(address):\(port)")
        }
        try asTool { try hub.start() }
        let answers = PeerAnswers(hub.peer, transport, hub)
        let server = try ControlServer(forStore: setup.peer.path) {
            (request, response) throws(ToolError) in
            try answers.answer(request, response)
        }
        defer {
            answers.stop()
            server.stop()
        }
        while !signals.wait(milliseconds: Self.progressMilliseconds) {
            try asTool { try hub.checkIsListening() }
            events.recordProgress(of: hub.peer)
        }
        try waitFor { await hub.drain() }
        return .ok
    }
}

/// The number of files and connections that this process may have open.
private enum DescriptorLimit {
    /// Raises the limit as far as the system permits: each client has a descriptor.
    static func raise() {
        var limit = rlimit()
        #if canImport(Glibc)
            let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        #else
            let resource = RLIMIT_NOFILE
        #endif
        guard getrlimit(resource, &limit) == 0 else { return }
        limit.rlim_cur = limit.rlim_max
        _ = setrlimit(resource, &limit)
    }
}

extension PeerEvents {
    /// Prints whether clients should use the hub, and why not.
    func record(_ status: HubStatus) {
        guard !status.isReady else { return write("ready", [], "ready") }
        let reason = status.reasons.joined(separator: "; ")
        write("not ready", [("reason", reason)], "not ready: \(reason)")
    }

    /// Prints the address of the health checks.
    func recordHealth(at address: String) {
        write("health", [("address", address)], "health checks at http://\(address)")
    }
}

/// The implementation of `sheaf hub status`.
enum HubStatusCommand {
    @Sendable static func run(
        _ arguments: Arguments, _ output: Output
    ) throws(ToolError) -> ExitCode {
        let (answer, line) = try ControlClient.object(
            ["do": "hub"], ofStore: arguments.operands[0])
        let lines = arguments.has("json") ? [line] : lines(answer)
        for line in lines { output.write(TerminalText.visible(line)) }
        return answer.isTrue("isReady") ? .ok : .failed
    }

    private static func lines(_ answer: Object) -> [String] {
        func number(_ object: Object, _ name: String) -> Int64 { object.number(name) ?? 0 }
        var lines = [answer.isTrue("isReady") ? "ready" : "not ready"]
        lines += answer.texts("reasons").map { "  \($0)" }
        let (commit, durable) = (number(answer, "commit"), number(answer, "hubDurableCommit"))
        lines.append(
            "commit \(commit), hub-durable up to \(durable)"
                + (durable < commit ? " (lag \(number(answer, "lagMilliseconds")) ms)" : ""))
        lines.append(
            "\(number(answer, "clients")) connections, \(number(answer, "unacknowledged")) batches "
                + "not acknowledged")
        if let held = answer.number("heldMilliseconds") {
            lines.append(
                "clients are held for \(held) ms: \(number(answer, "pendingBytes")) bytes of their "
                    + "documents are not hub-durable")
        }
        if number(answer, "unstoredFiles") > 0 {
            lines.append(
                "\(number(answer, "unstoredFiles")) attachments are not known to be in the engine")
        }
        if let failure = try? answer.text("fileFailure") { lines.append("attachments: \(failure)") }
        for shard in answer.objects("shards") {
            lines.append(
                "shard \(number(shard, "shard")): read to entry \(number(shard, "read")), stored to "
                    + "\(number(shard, "stored")); \(number(shard, "unstoredMessages")) messages "
                    + "(\(number(shard, "unstoredBytes")) bytes) not stored by the engine")
        }
        for hub in answer.objects("hubs") {
            var words = [(try? hub.text("hub")) ?? "unknown"]
            words.append(
                !hub.isTrue("isLive")
                    ? "silent for \(number(hub, "silentMilliseconds") / 1_000) s"
                    : hub.isTrue("isDraining")
                        ? "draining" : hub.isTrue("isReady") ? "ready" : "not ready")
            words.append("with \(number(hub, "clients")) connections")
            lines.append("hub " + words.joined(separator: " "))
        }
        return lines
    }
}
