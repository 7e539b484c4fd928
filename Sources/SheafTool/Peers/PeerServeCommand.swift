import Sheaf
import SheafNetwork
import SheafReplication
import SheafStatements
import SheafStorage
import SheafSystem

extension Command {
    /// The command `sheaf peer serve`.
    static let peerServe = Command(
        name: "peer serve", summary: "sync a store with other peers until interrupted",
        operands: ["PATH"], options: [.listen, .noDiscovery] + Option.peer + [.json],
        details: """
            Creates the store if it does not exist. Without --shared-key or --authority, only peers
            on this machine can connect. Documents are received for --subscribe and --subscribe-all
            only, and sent to other peers according to their subscriptions and grants.

            With --shared-key or --authority, peers on the local network find each other by
            multicast DNS, if they listen on an address that others can reach, such as 0.0.0.0:0.
            Hosts without the key recognize neither the database nor the peer in an announcement.
            Connected peers also report the addresses of each other to all peers of the mesh.
            --no-discovery prevents this; addresses of --connect are used in any case.

            A subscription is SELECT * FROM a collection, with optional WHERE, ORDER BY and LIMIT,
            as with dql_restrict_subscriptions = false.

            Prints one line per event: listening, connected, disconnected, refused, unreachable,
            discovery failed, conflict if another peer has the same key, and each second during a
            long sync, receiving with the number of documents so far. Warnings and errors of the
            store go to standard error, such as the reasons of closed connections and clock
            differences. SIGINT and SIGTERM close the store; the command ends within 2 seconds.
            Running statements of 'sheaf peer execute' then fail, and received documents that are
            not written yet are sent again later. While the peer runs, it has the store locked;
            'sheaf peer list', 'sheaf peer execute', 'sheaf sync status', 'sheaf explain-sync' and
            'sheaf inspect' connect to it through the socket PATH.peer, which only its owner can
            access.

            JSON keys: event, address, peer (a public key), reason; of the event receiving also
            documents (received so far) and remaining (estimated, or null).
            """,
        run: { (arguments, output) throws(ToolError) in
            try PeerRun(arguments, listens: true).run()
        })

    /// The command `sheaf peer connect`.
    static let peerConnect = Command(
        name: "peer connect", summary: "sync a store with peers that listen",
        operands: ["PATH"],
        options: Option.peer + [
            Option(
                name: "until-synced",
                summary: "exit when all documents are received and sent"),
            Option(
                name: "timeout", value: "SECONDS",
                summary: "fail after this time with --until-synced"),
            .json,
        ],
        details: """
            Like 'sheaf peer serve', without listening. With --until-synced the command ends when
            it is connected to each peer of --connect, has received everything it subscribes to,
            and has sent everything these peers subscribe to. Without --subscribe and
            --subscribe-all it also waits until each of them has a subscription, since a peer
            without any receives nothing. The exit code is 1 if the time limit expires.

            JSON keys: event, address, peer (a public key), reason; of the event receiving also
            documents (received so far) and remaining (estimated, or null).
            """,
        run: { (arguments, output) throws(ToolError) in
            try PeerRun(arguments, listens: false).run()
        })
}

/// The execution of `sheaf peer serve` or `sheaf peer connect`.
struct PeerRun {
    /// Interval between checks whether everything is synced.
    private static let checkMilliseconds: UInt64 = 20
    /// Interval between reports of the progress of a long sync.
    private static let progressMilliseconds: UInt64 = 1_000

    private let setup: PeerSetup
    private let events: PeerEvents
    private let isUntilSynced: Bool
    private let timeoutSeconds: UInt64?

    init(_ arguments: Arguments, listens: Bool) throws(ToolError) {
        setup = try PeerSetup(arguments, listens: listens)
        events = PeerEvents(isJSON: arguments.has("json"))
        isUntilSynced = arguments.has("until-synced")
        timeoutSeconds = try arguments.number("timeout")
        guard timeoutSeconds ?? 0 <= ControlLimits.maximumSeconds else {
            throw .usage("--timeout must be at most \(ControlLimits.maximumSeconds) seconds")
        }
        guard timeoutSeconds == nil || isUntilSynced else {
            throw .usage("--timeout requires --until-synced")
        }
    }

    /// Opens the peer, runs it, and closes it.
    func run() throws(ToolError) -> ExitCode {
        let signals = try StopSignals()
        let transport = try asTool { try TCPTransport(setup.network) }
        let (path, configuration) = (setup.path, setup.configuration(transport))
        try checkIsNoFile(path)
        let peer = try waitFor { try await Peer.open(at: path, configuration: configuration) }
        let result: Result<ExitCode, ToolError>
        do throws(ToolError) {
            result = .success(try run(peer, transport, signals))
        } catch {
            result = .failure(error)
        }
        try waitFor { try await peer.close() }
        return try result.get()
    }

    private func run(
        _ peer: Peer, _ transport: TCPTransport, _ signals: StopSignals
    ) throws(ToolError) -> ExitCode {
        let events = events
        peer.discovery = setup.discovery
        peer.presence.onTransportEvent { events.writeEvent($0) }
        peer.presence.onKeyConflict { events.record($0) }
        // The options of the command are trusted, so subscriptions are not restricted.
        _ = try waitFor {
            try await peer.store.execute("ALTER SYSTEM SET dql_restrict_subscriptions = false")
        }
        for query in setup.subscriptions {
            try asTool { _ = try peer.sync.registerSubscription(DQL(verbatim: query)) }
        }
        if setup.subscribesToAll {
            try asTool { _ = try peer.sync.registerSubscriptionToAllCollections() }
        }
        let answers = PeerAnswers(peer, transport)
        let server = try ControlServer(forStore: setup.path) {
            (request, response) throws(ToolError) in
            try answers.answer(request, response)
        }
        defer {
            answers.stop()
            server.stop()
        }
        try asTool { try peer.sync.start() }
        guard isUntilSynced else {
            while !signals.wait(milliseconds: Self.progressMilliseconds) {
                events.recordProgress(of: peer)
            }
            return .ok
        }
        return try waitUntilSynced(peer, transport, signals)
    }

    private func waitUntilSynced(
        _ peer: Peer, _ transport: TCPTransport, _ signals: StopSignals
    ) throws(ToolError) -> ExitCode {
        let start = Clock.system.monotonicNanoseconds()
        var reported = start
        while true {
            guard let lack = try asTool({ try lack(peer, transport) }) else { return .ok }
            if signals.wait(milliseconds: Self.checkMilliseconds) {
                throw .failed("interrupted before everything was synced: \(lack)")
            }
            let now = Clock.system.monotonicNanoseconds()
            if now - reported >= Self.progressMilliseconds * 1_000_000 {
                reported = now
                events.recordProgress(of: peer)
            }
            let seconds = (now - start) / 1_000_000_000
            if let timeoutSeconds, seconds >= timeoutSeconds {
                throw .failed("not everything is synced after \(timeoutSeconds) s: \(lack)")
            }
        }
    }

    /// Returns the reason why syncing is not complete, or nil if it is.
    private func lack(_ peer: Peer, _ transport: TCPTransport) throws -> String? {
        let connections = transport.connections
        let surveys = try peer.sync.surveys().filter(\.isConnected)
        for link in connections where link.isOutgoing {
            switch link.state {
            case .waiting(_, let reason):
                return "cannot connect to \(link.address)" + (reason.map { ": \($0)" } ?? "")
            case .connecting: return "\(link.address) does not respond"
            case .connected(let key, _), .elsewhere(let key):
                guard let survey = surveys.first(where: { $0.key == key }) else {
                    return "\(link.address) has not sent its hello yet"
                }
                if !survey.isReceived { return "not everything is received from \(survey.key)" }
                if !survey.isSent { return "not everything is sent to \(survey.key)" }
                if setup.subscriptions.isEmpty, !setup.subscribesToAll,
                    survey.queries?.isEmpty ?? true
                {
                    return "\(survey.key) has no subscriptions"
                }
            }
        }
        return connections.contains(where: \.isOutgoing) ? nil : "no connection was started"
    }
}

/// Limits of requests to a running peer.
enum ControlLimits {
    /// Maximum time to wait for syncing: one day.
    static let maximumSeconds: UInt64 = 86_400
}
