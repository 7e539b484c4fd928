import SheafDocument

extension Command {
    /// Lists the peers of a peer that runs.
    static let peerList = Command(
        name: "peer list", summary: "list the peers that a running peer knows", operands: ["PATH"],
        options: [.json],
        details: """
            Asks the process that runs 'sheaf peer serve' or 'sheaf peer connect' on the store. A
            line for each peer that was met since it began, for each one that is reached over
            others, and for each address that is tried. What peers are called that are reached over
            others, and how they are connected, is what others say.

            JSON keys: peer (a public key), name, isServer, state (connected, reached, gone,
            waiting or connecting), address, isOutgoing (whether this side has connected), reason,
            distance (over how many connections it is reached), connections (with which peers),
            metadata. What is not known is null.
            """,
        run: PeerListCommand.run)

    /// Runs a statement where a peer has the store.
    static let peerExecute = Command(
        name: "peer execute", summary: "run a statement in a running peer",
        operands: ["PATH", "STATEMENT"],
        options: [
            Option(
                name: "arg", value: "NAME=JSON", isRepeatable: true,
                summary: "the value of the parameter :NAME")
        ],
        details: """
            As 'sheaf query PATH STATEMENT --mode json', for a store that a peer has: prints JSON,
            a row a line, and of a statement that writes a last line with the keys commit, changed
            and ids. STATEMENT - is read from standard input. What was written is on the disk of
            this peer; 'sheaf sync status PATH --wait COMMIT' waits until others have it.
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
            try ControlClient.ask(request, ofStore: arguments.operands[0]) { line in
                output.write(TerminalText.visible(line))
            }
            return .ok
        })

    /// Says how far peers are.
    static let syncStatus = Command(
        name: "sync status", summary: "say how far a running peer and its peers are",
        operands: ["PATH"],
        options: [
            Option(
                name: "wait", value: "COMMIT", summary: "wait until peers have this commit first"),
            Option(name: "peer", value: "KEY", summary: "wait for this peer alone"),
            Option(
                name: "timeout", value: "SECONDS", summary: "wait for so long, and not for 60 s"),
            .json,
        ],
        details: """
            Peers that have the same have the same checksum of a subscription. With --wait, all
            peers that are connected and have subscribed to something have to have the commit, or
            all of it that they may have, on their disks; at least one has to be there. Time that
            passes before is exit code 1.

            JSON keys: key (of this peer), commit (the newest), subscriptions (with query,
            documents and checksum) and peers (with peer, name, isConnected, syncedUpTo, wants,
            isTaken, isGiven).
            """,
        run: SyncStatusCommand.run)

    /// Says what became of a document on its way to a peer.
    static let explainSync = Command(
        name: "explain-sync", summary: "say why a peer has a document, or has it not",
        operands: ["PATH", "COLLECTION", "ID", "PEER"], options: [.json],
        details: """
            ID is JSON; what is no JSON is taken for a string. PEER is a public key, as 'sheaf peer
            list' has it. Asks the process that runs the peer on the store whether the document is
            matched by what the other peer has subscribed to, may go there, was sent, and is there.

            JSON keys: document (present, deleted or missing), commit (the newest that has touched
            it), isConnected, queries (how many the peer has subscribed to), matching (a list of
            queries), scope, isShared, mayRead (by the rules for the peer), maySend (by those for
            this one), sentUpTo, acknowledgedUpTo (commits). What is not known is null.
            """,
        run: ExplainSyncCommand.run)
}
