import Sheaf
import SheafDocument
import SheafReplication

/// The implementation of `sheaf explain-sync`.
enum ExplainSyncCommand {
    @Sendable static func run(
        _ arguments: Arguments, _ output: Output
    ) throws(ToolError) -> ExitCode {
        let words = arguments.operands
        let request: Object = [
            "do": "explain", "collection": .string(words[1]), "id": .string(words[2]),
            "peer": .string(words[3]),
        ]
        let (answer, line) = try ControlClient.object(request, ofStore: words[0])
        if arguments.has("json") {
            output.write(TerminalText.visible(line))
        } else {
            for line in try lines(answer) { output.write(TerminalText.visible(line)) }
        }
        return .ok
    }

    private static func lines(_ answer: Object) throws(ToolError) -> [String] {
        let presence = try answer.text("document")
        let commit = answer.number("commit")
        let touched = commit.map { ", last changed by commit \($0)" } ?? ""
        let mayGo =
            answer.isTrue("isShared") && answer.isTrue("mayRead") && answer.isTrue("maySend")
        let isWanted = presence != "present" || !answer.texts("matching").isEmpty
        let hasSubscribed = answer.number("queries") != nil
        func progress(_ name: String) -> String {
            guard let reached = answer.number(name) else {
                return hasSubscribed ? "no" : "unknown until the peer sends its subscriptions"
            }
            guard hasSubscribed else { return "its subscribed documents, up to commit \(reached)" }
            guard mayGo, isWanted, let commit else {
                return "no; only documents permitted to it, up to commit \(reached)"
            }
            return reached >= commit
                ? "yes, up to commit \(reached)" : "up to commit \(reached) only"
        }
        return [
            "document: \(presence)\(touched)",
            "connected: " + connection(answer),
            "matched: " + matching(answer, presence),
            "permitted: " + (try permission(answer)),
            "sent: " + progress("sentUpTo"),
            "acknowledged: " + progress("acknowledgedUpTo"),
        ] + refusal(answer) + clock(answer)
    }

    private static func refusal(_ answer: Object) -> [String] {
        guard case .string(let reason)? = answer["refused"] else { return [] }
        return ["refused: " + reason]
    }

    private static func connection(_ answer: Object) -> String {
        if answer.isTrue("isConnected") { return "yes" }
        guard case .string(let reason)? = answer["lastCloseReason"] else { return "no" }
        return "no; \(reason)"
    }

    private static func matching(_ answer: Object, _ presence: String) -> String {
        guard let count = answer.number("queries") else {
            return "unknown: the peer has not sent its subscriptions"
        }
        switch presence {
        case "missing": return "no such document"
        case "evicted": return "an evicted document is not sent"
        case "deleted": return "a deletion is sent to peers that received the document"
        default: break
        }
        let queries = answer.texts("matching")
        guard queries.isEmpty else { return queries.joined(separator: "; ") }
        return "by none of " + (count == 1 ? "its 1 query" : "its \(count) queries")
    }

    /// Returns warnings about the clocks and the stamps of the document, or no lines.
    private static func clock(_ answer: Object) -> [String] {
        var lines = answer.texts("clock").map { "clock: \($0)" }
        if answer.number("quarantinedUntilMilliseconds") != nil {
            lines.append(
                "quarantined: the peer's version is stamped too far ahead of the local clock; it "
                    + "is applied when the clock reaches that time, or after its store is repaired"
            )
        }
        if let ahead = answer.number("aheadMilliseconds") {
            lines.append(
                "stamped: \(ClockReport.text(UInt64(clamping: ahead))) ahead of the local clock")
        }
        return lines
    }

    private static func permission(_ answer: Object) throws(ToolError) -> String {
        if !answer.isTrue("isShared") {
            return "no, the collection has the sync scope \(try answer.text("scope"))"
        }
        if !answer.isTrue("mayRead") { return "no, the peer's grant does not permit reading it" }
        if !answer.isTrue("maySend") { return "no, this peer's grant does not permit writing it" }
        return "yes"
    }
}
