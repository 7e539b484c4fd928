import SheafDocument

extension Command {
    /// The command `sheaf hub serve`.
    static let hubServe = Command(
        name: "hub serve", summary: "serve a database together with other hubs until interrupted",
        operands: ["PATH"], options: Option.hub + [.json],
        details: """
            A hub is a peer that has all documents of a database, and shares them with the other
            hubs of the database by a log in NATS JetStream or PostgreSQL. Clients connect to any
            hub with 'sheaf peer connect --connect', and to another one later: what a hub has
            acknowledged is stored by the engine, and by a second hub if one is running. The first
            hub of a database creates the log. The store at PATH is created if it does not exist;
            it can be removed, since the log and the other hubs have its contents.

            --log is nats://HOST:PORT, or tls:// in its place, with more brokers after commas; or
            postgresql://USER@HOST/DATABASE, as libpq reads it. The tool must be built with the
            package trait NATS or PostgreSQL. Brokers of NATS need sync_interval: always.
            PostgreSQL needs synchronous_standby_names, or messages are on one server only. The
            engine sees all documents, so its users have all rights. Other users of the machine see
            the words of a command, so --log should have no password: --log-credentials is a file
            for NATS, and PGPASSFILE in the environment names one for PostgreSQL.

            The hub listens once it has read everything that was in the log at its start. --http
            serves /live, /ready and /metrics (for Prometheus), without a token: /ready has status
            503 and the reasons while clients should use another hub.

            SIGTERM and SIGINT drain the hub: it accepts no more connections, acknowledges what it
            has received, and ends its connections one by one, so that clients connect to the other
            hubs; this takes at most --drain seconds and 20 more. A second signal ends it at once,
            and nothing acknowledged is lost. A hub that waits for its engine at the start ends
            after the attempt to connect.

            Prints one line per event: those of 'sheaf peer serve', health, ready and not ready.
            'sheaf hub status', 'sheaf hub upgrade', 'sheaf hub replace' and the commands for
            running peers connect to it through the socket PATH.peer.

            JSON keys: event, address, peer (a public key), reason; of the event receiving also
            documents (received so far) and remaining (estimated, or null).
            """,
        run: { (arguments, output) throws(ToolError) in try HubRun(arguments).run() })

    /// The command `sheaf hub status`.
    static let hubStatus = Command(
        name: "hub status", summary: "show the state of a running hub", operands: ["PATH"],
        options: [.json],
        details: """
            Connects to the process that runs 'sheaf hub serve' on the store. The exit code is 1 if
            the hub is not ready: then clients should use another one, and the reasons say why.

            A commit is hub-durable if the engine and, if one is live, a second hub have it; only
            then is it acknowledged. Of two hubs that have read a shard to the same entry, both have
            the same documents of it.

            JSON keys: key (of this hub), isReady, isLive, isDraining, reasons (sentences), log and
            logNumber (the log of the database), format (the version of messages that all hubs
            write), formats (the lowest and highest version that this hub reads), commit (the
            newest), hubDurableCommit, lagMilliseconds (since when they differ), clients,
            unacknowledged (batches), pendingBytes (of documents of clients that are not
            hub-durable), heldMilliseconds (for how long clients have been held, or null),
            unstoredFiles (attachments that the engine may
            not have), fileFailure (why one cannot be kept there, or null), shards (with shard,
            read and stored (entries), hasCaughtUp, unstoredMessages, unstoredBytes and
            incidents), hubs (the others, with hub, isLive, isReady, isDraining, clients, formats,
            clockDifferenceMilliseconds and
            silentMilliseconds) and counts (since the start, by name).
            """,
        run: HubStatusCommand.run)

    /// The command `sheaf hub upgrade`.
    static let hubUpgrade = Command(
        name: "hub upgrade", summary: "let all hubs write the newest version of messages",
        operands: ["PATH"], options: [.json],
        details: """
            Hubs of two releases can run at once. They write the version of messages that the
            configuration of the database names, so that the older ones read it. After all hubs
            run the newer release, this command changes the configuration; it fails if a live hub
            does not read the newest version that the hub on PATH reads. Afterwards, older releases
            are not ready.

            JSON keys: format (the version that all hubs write).
            """,
        run: { (arguments, output) throws(ToolError) in
            let (answer, line) = try ControlClient.object(
                ["do": "upgrade"], ofStore: arguments.operands[0])
            output.write(
                arguments.has("json")
                    ? TerminalText.visible(line)
                    : "the hubs write messages of version \(answer.number("format") ?? 0)")
            return .ok
        })
}

extension Command {
    /// The command `sheaf hub replace`.
    static let hubReplace = Command(
        name: "hub replace", summary: "replace the log of all hubs by a new one",
        operands: ["PATH"],
        options: [
            Option(name: "force", summary: "use the documents of this hub, complete or not"), .json,
        ],
        details: """
            The new log begins with a snapshot of the documents of the hub on PATH; the other hubs
            load it, and append what only they have. Meanwhile all hubs serve and store documents,
            and acknowledge none. Hubs replace a log that contradicts itself without a request: this
            command is for an engine that was restored from a backup, or moved.

            The hub must have read the log to its end. If no hub can, because the engine has lost
            a part of the log or its configuration, use --force at the hub that has most documents;
            the others append what it lacks. --force also takes over from a hub that has begun to
            replace the log.

            The old log is kept for a week. The command fails if another hub is replacing the log.

            JSON keys: logNumber (the number of the new log among those of the database).
            """,
        run: { (arguments, output) throws(ToolError) in
            let (answer, line) = try ControlClient.object(
                ["do": "replace", "force": .bool(arguments.has("force"))],
                ofStore: arguments.operands[0])
            output.write(
                arguments.has("json")
                    ? TerminalText.visible(line)
                    : "the hubs use log \(answer.number("logNumber") ?? 0)")
            return .ok
        })
}

extension Option {
    /// The options of a hub.
    static let hub: [Option] =
        [
            Option(
                name: "log", value: "URL", isRepeatable: true,
                summary: "the engine of the log: nats://HOST:PORT,... or postgresql://..."),
            .listen, .database,
            Option(name: "http", value: "ADDRESS:PORT", summary: "serve health checks there"),
        ]
        + peer.filter {
            ["key", "connect", "shared-key", "authority", "grant", "name"].contains($0.name)
        }
        + [
            Option(
                name: "log-credentials", value: "FILE",
                summary: "a JWT and a seed for the brokers of NATS"),
            Option(
                name: "log-ca", value: "FILE",
                summary: "certificates of authorities for the brokers of NATS"),
            Option(
                name: "log-certificate", value: "FILE",
                summary: "the certificate of this hub for the brokers of NATS"),
            Option(
                name: "log-key", value: "FILE", summary: "the key of --log-certificate"),
            Option(
                name: "replicas", value: "COUNT",
                summary: "how many brokers of NATS have each message (default: 3)"),
            Option(
                name: "shards", value: "COUNT",
                summary: "the number of shards of a new log (default: 1)"),
            Option(
                name: "drain", value: "SECONDS",
                summary: "how long to wait for acknowledgments at the end (default: 30)"),
            Option(
                name: "max-connections", value: "COUNT",
                summary: "the maximum number of connections (default: 10000)"),
        ]
}
