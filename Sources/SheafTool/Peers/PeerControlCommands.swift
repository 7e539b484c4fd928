import SheafDocument

extension Command {
    /// The command `sheaf peer list`.
    static let peerList = Command(
        name: "peer list", summary: "list the peers of a running peer", operands: ["PATH"],
        options: [.json],
        details: """
            Connects to the process that runs 'sheaf peer serve' or 'sheaf peer connect' on the
            store. There is a line for each peer connected since it started, for each peer
            reachable through others, and for each address being dialed. Peers reachable through
            others report their names and connections themselves.

            JSON keys: peer (a public key), name, isServer, state (connected, reached, unreachable,
            waiting or connecting), address, isOutgoing (whether this peer opened the connection),
            reason, distance (the number of connections on the path), connections (the keys of
            the adjacent peers), metadata. Unknown values are null.
            """,
        run: PeerListCommand.run)

    /// The command `sheaf peer execute`.
    static let peerExecute = Command(
        name: "peer execute", summary: "run a statement in a running peer",
        operands: ["PATH", "STATEMENT"],
        options: [
            .argument,
            Option(name: "json", summary: "print one JSON object per line, which is the only form"),
        ],
        details: """
            Like 'sheaf query PATH STATEMENT --mode jsonl', for a store opened by a running peer:
            prints one row per line as JSON. The last line of a statement that writes has the keys
            commit, changed and ids. Notes on an empty result go to standard error. STATEMENT is one
            statement; - reads it from standard input. Changes are durable on this peer;
            'sheaf sync status PATH --wait COMMIT' waits until other peers have them.
            """,
        run: { (arguments, output) throws(ToolError) in
            let values = try StatementInput.arguments(arguments.allValues("arg"))
            var object = Object()
            for (name, value) in values { object[name] = value }
            let request: Object = [
                "do": "execute",
                "statement": .string(try StatementInput.text(arguments.operands[1])),
                "arguments": .object(object),
            ]
            try ControlClient.send(
                request, ofStore: arguments.operands[0],
                note: { output.print(note: TerminalText.visible($0)) }
            ) { line in
                output.write(TerminalText.visible(line))
            }
            return .ok
        })

    /// The command `sheaf sync status`.
    static let syncStatus = Command(
        name: "sync status", summary: "show the sync progress of a running peer",
        operands: ["PATH"],
        options: [
            Option(
                name: "wait", value: "COMMIT", summary: "wait until the peers have this commit"),
            Option(name: "peer", value: "KEY", summary: "wait for this peer only"),
            Option(
                name: "timeout", value: "SECONDS", summary: "set the time limit (default: 60)"),
            .json,
        ],
        details: """
            Peers with the same documents report the same checksum of a subscription. --wait waits
            until the commit, or the part of it that the peer may have, is durable on every
            connected peer with subscriptions; there must be at least one. The exit code is 1 if
            the time limit expires.

            JSON keys: key (of this peer), commit (the newest), subscriptions (with query,
            documents and checksum), peers (with peer, name, isConnected, lastCloseReason,
            syncedUpTo, queries, isReceived, isSent, clock and refused) and unreachable (with
            address, reason, attempts, lastAttemptMilliseconds and nextAttemptMilliseconds).
            """,
        run: SyncStatusCommand.run)

    /// The command `sheaf explain-sync`.
    static let explainSync = Command(
        name: "explain-sync", summary: "explain why a peer has or does not have a document",
        operands: ["PATH", "COLLECTION", "ID", "PEER"], options: [.json],
        details: """
            ID is JSON; if it is not valid JSON, it is a string. PEER is a public key, as printed by
            'sheaf peer list'. Reports whether the document matches the subscriptions of the peer,
            whether it may be sent, and whether it was sent and acknowledged. Requires a running
            peer on the store.

            JSON keys: document (present, deleted, evicted from this store, or missing), commit (the
            last that changed it), isConnected, lastCloseReason, queries (the number of
            subscriptions of the peer), matching (an array of queries), scope, isShared, mayRead (by
            the peer's grant), maySend (by this peer's grant), sentUpTo, acknowledgedUpTo (commits),
            clock (an array of warnings), quarantinedUntilMilliseconds, aheadMilliseconds, refused
            (the reason). Unknown values are null.
            """,
        run: ExplainSyncCommand.run)
}
