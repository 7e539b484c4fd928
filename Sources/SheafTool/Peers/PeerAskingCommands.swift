import SheafDocument

extension Command {
    /// Lists the peers of a peer that runs.
    static let peerList = Command(
        name: "peer list", summary: "list the peers that a running peer knows", operands: ["PATH"],
        options: [.json],
        details: """
            Asks the process that runs 'sheaf peer serve' or 'sheaf peer connect' on the store. A
            line for each peer that was met since it began, and for each address that is tried.

            JSON keys: peer (a public key), name, isServer, state (connected, gone, waiting or
            connecting), address, isOutgoing (whether this side has connected), reason. What is
            not known is null.
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

/// `sheaf peer list`.
enum PeerListCommand {
    @Sendable static func run(
        _ arguments: Arguments, _ output: Output
    ) throws(ToolError) -> ExitCode {
        let isJSON = arguments.has("json")
        try ControlClient.ask(["do": "list"], ofStore: arguments.operands[0]) { line in
            if isJSON { return output.write(TerminalText.visible(line)) }
            guard case .object(let row)? = try? Value(json: line) else { return }
            output.write(TerminalText.visible(sentence(row)))
        }
        return .ok
    }

    private static func sentence(_ row: Object) -> String {
        func text(_ name: String) -> String? {
            if case .string(let text)? = row[name], !text.isEmpty { text } else { nil }
        }
        var words = [text("peer") ?? "somebody"]
        if let name = text("name") { words.append("\"\(name)\"") }
        if row.isTrue("isServer") { words.append("(server)") }
        if let state = text("state") { words.append(state) }
        if let address = text("address") {
            words.append((row.isTrue("isOutgoing") ? "to " : "from ") + address)
        }
        return words.joined(separator: " ") + (text("reason").map { ": \($0)" } ?? "")
    }
}

/// `sheaf sync status`.
enum SyncStatusCommand {
    @Sendable static func run(
        _ arguments: Arguments, _ output: Output
    ) throws(ToolError) -> ExitCode {
        var request: Object = ["do": "status"]
        if let commit = try arguments.number("wait") {
            request["commit"] = .integer(Int64(clamping: commit))
        }
        for option in ["peer", "timeout"] where arguments.value(option) != nil {
            guard request["commit"] != nil else {
                throw .usage("--\(option) goes with --wait COMMIT")
            }
        }
        if let peer = arguments.value("peer") { request["peer"] = .string(peer) }
        if let seconds = try arguments.number("timeout") {
            request["timeoutSeconds"] = .integer(Int64(clamping: seconds))
        }
        let answer = try ControlClient.object(request, ofStore: arguments.operands[0])
        if arguments.has("json") {
            output.write(TerminalText.visible(Value.object(answer).json))
        } else {
            for line in lines(answer) { output.write(TerminalText.visible(line)) }
        }
        return .ok
    }

    private static func lines(_ answer: Object) -> [String] {
        var lines = ["commit \(answer.number("commit") ?? 0)"]
        for entry in answer.objects("subscriptions") {
            guard case .string(let query)? = entry["query"],
                case .string(let checksum)? = entry["checksum"]
            else { continue }
            lines.append("checksum \(checksum) of \(query)")
        }
        for entry in answer.objects("peers") {
            guard case .string(let key)? = entry["peer"] else { continue }
            var line = "\(key) " + (entry.isTrue("isConnected") ? "connected" : "gone")
            line += entry.number("syncedUpTo").map { ", has commit \($0)" } ?? ", has no commit"
            if entry.isTrue("isConnected") {
                line += entry.isTrue("isTaken") ? ", all taken" : ", not all taken"
                line += entry.isTrue("isGiven") ? ", all given" : ", not all given"
            }
            lines.append(line)
        }
        return lines
    }
}

/// `sheaf explain-sync`.
enum ExplainSyncCommand {
    @Sendable static func run(
        _ arguments: Arguments, _ output: Output
    ) throws(ToolError) -> ExitCode {
        let words = arguments.operands
        let request: Object = [
            "do": "explain", "collection": .string(words[1]), "id": .string(words[2]),
            "peer": .string(words[3]),
        ]
        let answer = try ControlClient.object(request, ofStore: words[0])
        if arguments.has("json") {
            output.write(TerminalText.visible(Value.object(answer).json))
        } else {
            for line in try lines(answer) { output.write(TerminalText.visible(line)) }
        }
        return .ok
    }

    private static func lines(_ answer: Object) throws(ToolError) -> [String] {
        let presence = try answer.text("document")
        let commit = answer.number("commit")
        let touched = commit.map { ", touched last by commit \($0)" } ?? ""
        let mayGo =
            answer.isTrue("isShared") && answer.isTrue("mayRead") && answer.isTrue("maySend")
        let isWanted = presence != "present" || !answer.texts("matching").isEmpty
        func progress(_ name: String) -> String {
            guard let reached = answer.number(name) else { return "no" }
            guard mayGo, isWanted, let commit else {
                return "no; what may go there was, up to commit \(reached)"
            }
            return reached >= commit
                ? "yes, up to commit \(reached)" : "up to commit \(reached) only"
        }
        return [
            "document: \(presence)\(touched)",
            "connected: " + (answer.isTrue("isConnected") ? "yes" : "no"),
            "matched: " + matching(answer, presence),
            "permitted: " + (try permission(answer)),
            "sent: " + progress("sentUpTo"),
            "acknowledged: " + progress("acknowledgedUpTo"),
        ]
    }

    private static func matching(_ answer: Object, _ presence: String) -> String {
        guard let count = answer.number("queries") else {
            return "the peer has not said what it wants"
        }
        switch presence {
        case "missing": return "there is nothing to match"
        case "deleted": return "what is deleted goes to those who had it"
        default: break
        }
        let queries = answer.texts("matching")
        guard queries.isEmpty else { return queries.joined(separator: "; ") }
        return "by none of " + (count == 1 ? "its 1 query" : "its \(count) queries")
    }

    private static func permission(_ answer: Object) throws(ToolError) -> String {
        if !answer.isTrue("isShared") {
            return "no, the collection has the sync scope \(try answer.text("scope"))"
        }
        if !answer.isTrue("mayRead") { return "no, the peer's grant does not let it read this" }
        if !answer.isTrue("maySend") { return "no, this peer's grant does not let it write this" }
        return "yes"
    }
}
