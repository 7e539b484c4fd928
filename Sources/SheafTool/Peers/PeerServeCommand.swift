import Sheaf
import SheafNetwork
import SheafStorage

extension Command {
    /// Runs a peer that others connect to.
    static let peerServe = Command(
        name: "peer serve", summary: "share a store with other peers, until it is interrupted",
        operands: ["PATH"], options: [.listen] + Option.peer + [.json],
        details: """
            The store is made where there is none. Without --shared-key and --authority only peers
            on this machine are talked to. Nothing is fetched that --subscribe does not ask for;
            others get what they ask for, as far as their grants go.

            A subscription is SELECT * FROM a collection, with or without WHERE, ORDER BY and LIMIT,
            as with dql_restrict_subscriptions = false.

            A line is printed for each event: listening, connected, disconnected, refused,
            unreachable, and conflict, where another peer has the key of this one. Warnings and
            errors of the store go to standard error, such as the reasons of ended connections, and
            clocks that differ. SIGINT and SIGTERM close the store: the command ends within 2
            seconds, whatever it is doing. Statements of 'sheaf peer execute' that run then fail, and
            documents that other peers have sent and that are not written yet are sent again the next
            time. While the peer runs it has the store: 'sheaf peer list', 'sheaf peer execute',
            'sheaf sync status' and 'sheaf explain-sync' ask it, through
            the socket PATH.peer, which is its owner's alone.

            JSON keys: event, address, peer (a public key), reason.
            """,
        run: { (arguments, output) throws(ToolError) in
            try PeerRun(arguments, listens: true).run()
        })

    /// Runs a peer that connects to others.
    static let peerConnect = Command(
        name: "peer connect", summary: "share a store with peers that listen",
        operands: ["PATH"],
        options: Option.peer + [
            Option(
                name: "until-synced",
                summary: "end when all was taken and given that there is"),
            Option(
                name: "timeout", value: "SECONDS",
                summary: "give up after so long with --until-synced"),
            .json,
        ],
        details: """
            As 'sheaf peer serve', without listening. With --until-synced the command ends when
            each peer of --connect is there, this one has all that it wants of them, and they have
            all that they want of this one; a peer that has subscribed to nothing wants nothing.
            Where no --subscribe is given, only what a peer has subscribed to can tell that it
            was served: so one is waited for that subscribes. A --timeout that passes is exit
            code 1.

            JSON keys: event, address, peer (a public key), reason.
            """,
        run: { (arguments, output) throws(ToolError) in
            try PeerRun(arguments, listens: false).run()
        })
}

/// A peer that runs until it is interrupted, or has nothing more to do.
struct PeerRun {
    /// So often it is looked whether everything is synced.
    private static let stepMilliseconds: UInt64 = 20

    private let setup: PeerSetup
    private let events: PeerEvents
    private let isUntilSynced: Bool
    private let timeoutSeconds: UInt64?

    init(_ arguments: Arguments, listens: Bool) throws(ToolError) {
        setup = try PeerSetup(arguments, listens: listens)
        events = PeerEvents(isJSON: arguments.has("json"))
        isUntilSynced = arguments.has("until-synced")
        timeoutSeconds = try arguments.number("timeout")
        guard timeoutSeconds ?? 0 <= ControlLimits.mostSeconds else {
            throw .usage("--timeout is at most \(ControlLimits.mostSeconds) seconds")
        }
        guard timeoutSeconds == nil || isUntilSynced else {
            throw .usage("--timeout goes with --until-synced")
        }
    }

    /// Opens the peer, lets it run, and closes it.
    func run() throws(ToolError) -> ExitCode {
        let signals = try StopSignals()
        let transport = try asTool { try TCPTransport(setup.network) }
        let (path, configuration) = (setup.path, try setup.configuration(transport))
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
        peer.presence.onTransportEvent { events.note($0) }
        peer.presence.onKeyConflict { events.note($0) }
        // The people who run the peer say themselves what it is to want.
        _ = try waitFor {
            try await peer.store.execute("ALTER SYSTEM SET dql_restrict_subscriptions = false")
        }
        for query in setup.subscriptions {
            try asTool { _ = try peer.sync.registerSubscription(Query(verbatim: query)) }
        }
        let answers = PeerAnswers(peer, transport)
        let server = try ControlServer(forStore: setup.path) {
            (request, write) throws(ToolError) in
            try answers.answer(request, write)
        }
        defer {
            answers.stop()
            server.stop()
        }
        try asTool { try peer.sync.start() }
        guard isUntilSynced else {
            _ = signals.wait()
            return .ok
        }
        return try waitUntilSynced(peer, transport, signals)
    }

    private func waitUntilSynced(
        _ peer: Peer, _ transport: TCPTransport, _ signals: StopSignals
    ) throws(ToolError) -> ExitCode {
        let start = Clock.system.monotonicNanoseconds()
        while true {
            guard let lack = try asTool({ try lack(peer, transport) }) else { return .ok }
            if signals.wait(milliseconds: Self.stepMilliseconds) {
                throw .failed("interrupted before everything was synced: \(lack)")
            }
            let seconds = (Clock.system.monotonicNanoseconds() - start) / 1_000_000_000
            if let timeoutSeconds, seconds >= timeoutSeconds {
                throw .failed("not everything is synced after \(timeoutSeconds) s: \(lack)")
            }
        }
    }

    /// What is still to be waited for; nothing where everything is synced.
    private func lack(_ peer: Peer, _ transport: TCPTransport) throws -> String? {
        let links = transport.links
        let surveys = try peer.sync.surveys().filter(\.isConnected)
        for link in links where link.isOutgoing {
            switch link.state {
            case .waiting(_, let reason):
                return "\(link.address) cannot be reached" + (reason.map { ": \($0)" } ?? "")
            case .connecting: return "\(link.address) does not answer"
            case .connected(let key, _), .elsewhere(let key):
                guard let survey = surveys.first(where: { $0.key.bytes == key }) else {
                    return "\(link.address) has not said who it is"
                }
                if !survey.isTaken { return "\(survey.key) has not told everything" }
                if !survey.isGiven { return "\(survey.key) has not taken everything" }
                if setup.subscriptions.isEmpty, survey.wants?.isEmpty ?? true {
                    return "\(survey.key) has subscribed to nothing"
                }
            }
        }
        return links.contains(where: \.isOutgoing) ? nil : "no connection was begun"
    }
}

/// What commands may ask of a peer that runs.
enum ControlLimits {
    /// A day.
    static let mostSeconds: UInt64 = 86_400
}
