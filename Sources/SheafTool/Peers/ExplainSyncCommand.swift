import Sheaf
import SheafDocument

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
        let touched = commit.map { ", touched last by commit \($0)" } ?? ""
        let mayGo =
            answer.isTrue("isShared") && answer.isTrue("mayRead") && answer.isTrue("maySend")
        let isWanted = presence != "present" || !answer.texts("matching").isEmpty
        let isTelling = answer.number("queries") != nil
        func progress(_ name: String) -> String {
            guard let reached = answer.number(name) else {
                return isTelling ? "no" : "not known before the peer says what it wants"
            }
            guard isTelling else { return "what it wanted, up to commit \(reached)" }
            guard mayGo, isWanted, let commit else {
                return "no; what may go there was, up to commit \(reached)"
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

    /// What is wrong with the clocks, and with the stamps of the document; nothing where all is right.
    private static func clock(_ answer: Object) -> [String] {
        var lines = answer.texts("clock").map { "clock: \($0)" }
        if answer.number("setAsideUntilMilliseconds") != nil {
            lines.append(
                "set aside: what the peer has of the document is stamped too far ahead of the clock "
                    + "here; it is taken when the clock has come to that time, or when it is repaired"
            )
        }
        if let ahead = answer.number("aheadMilliseconds") {
            lines.append(
                "stamped: \(ClockReport.text(UInt64(clamping: ahead))) ahead of the clock here")
        }
        return lines
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
