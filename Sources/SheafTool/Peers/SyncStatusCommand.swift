import SheafDocument

/// The implementation of `sheaf peer list`.
enum PeerListCommand {
    @Sendable static func run(
        _ arguments: Arguments, _ output: Output
    ) throws(ToolError) -> ExitCode {
        let isJSON = arguments.has("json")
        try ControlClient.send(["do": "list"], ofStore: arguments.operands[0]) { line in
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
        var words = [text("peer") ?? "unknown"]
        if let name = text("name") { words.append("\"\(name)\"") }
        if row.isTrue("isServer") { words.append("(server)") }
        if let state = text("state") { words.append(state) }
        if text("state") == "reached", let distance = row.number("distance") {
            words.append("over \(distance) connections")
        }
        if let address = text("address") {
            words.append((row.isTrue("isOutgoing") ? "to " : "from ") + address)
        }
        return words.joined(separator: " ") + (text("reason").map { ": \($0)" } ?? "")
    }
}

/// The implementation of `sheaf sync status`.
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
                throw .usage("--\(option) requires --wait COMMIT")
            }
        }
        if let peer = arguments.value("peer") { request["peer"] = .string(peer) }
        if let seconds = try arguments.number("timeout") {
            request["timeoutSeconds"] = .integer(Int64(clamping: seconds))
        }
        let (answer, line) = try ControlClient.object(request, ofStore: arguments.operands[0])
        if arguments.has("json") {
            output.write(TerminalText.visible(line))
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
            var line = "\(key) " + (entry.isTrue("isConnected") ? "connected" : "disconnected")
            line += entry.number("syncedUpTo").map { ", has commit \($0)" } ?? ", has no commit"
            if entry.isTrue("isConnected") {
                line += progress(entry["receiving"]).map { ", receiving \($0)" } ?? ""
                line += entry.isTrue("isReceived") ? ", all received" : ", not all received"
                line += progress(entry["sending"]).map { ", sending \($0)" } ?? ""
                line += entry.isTrue("isSent") ? ", all sent" : ", not all sent"
            } else if case .string(let reason)? = entry["lastCloseReason"] {
                line += "; \(reason)"
            }
            lines.append(line)
            lines += entry.texts("clock").map { "  clock: \($0)" }
            lines += refused(entry.objects("refused"))
        }
        for entry in answer.objects("unreachable") {
            guard case .string(let address)? = entry["address"],
                case .string(let reason)? = entry["reason"]
            else { continue }
            let (last, next) = (
                entry.number("lastAttemptMilliseconds") ?? 0,
                entry.number("nextAttemptMilliseconds") ?? 0
            )
            lines.append(
                "\(address) unreachable: \(reason); attempt \(entry.number("attempts") ?? 0) at "
                    + "\(Timestamp.text(UInt64(clamping: last))), next at "
                    + Timestamp.text(UInt64(clamping: next)))
        }
        return lines
    }

    /// Returns a phrase for the progress of documents; nil if there is none.
    private static func progress(_ progress: Value?) -> String? {
        guard case .object(let progress)? = progress, let documents = progress.number("documents")
        else { return nil }
        let all = progress.number("remaining").map { " (\(documents) of \(documents + $0))" }
        return "documents" + (all ?? " (\(documents))")
    }

    /// Maximum number of refused documents printed per peer.
    private static let maximumRefused = 16

    private static func refused(_ writes: [Object]) -> [String] {
        var lines = writes.prefix(maximumRefused).map { write in
            guard case .string(let collection)? = write["collection"],
                case .string(let reason)? = write["reason"]
            else { return "  refused" }
            return "  refused: \(collection) \(write["id"]?.json ?? ""): \(reason)"
        }
        if writes.count > lines.count {
            lines.append("  refused: \(writes.count - lines.count) more; see system:refused_writes")
        }
        return lines
    }
}
