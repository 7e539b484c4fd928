import Sheaf
import SheafBytes
import SheafDocument
import SheafEngine
import SheafStorage

extension Command {
    /// The command `sheaf blame`.
    static let blame = Command(
        name: "blame", summary: "show which site and commit last set each field of a document",
        operands: ["PATH", "COLLECTION", "ID"],
        options: [.json],
        details: """
            ID is JSON; if it is not valid JSON, it is a string. Each line has the path of a field,
            the commit and the time of the write, the site that made it, and the value. A field has
            several lines if sites wrote it concurrently, or if it is a counter, one for each part.
            <= before a commit means this commit or an earlier one that has been compacted.

            JSON keys: path (an array of names), kind (value, token, mark, restart, sum or
            olderSum), value, commit, isExact, time, timeMilliseconds, stamp, site. A value
            written by INSERT INITIAL has no time, and the site is "initial".
            """,
        run: BlameCommand.run)
}

/// The implementation of `sheaf blame`.
enum BlameCommand {
    @Sendable static func run(
        _ arguments: Arguments, _ output: Output
    ) throws(ToolError) -> ExitCode {
        let path = arguments.operands[0]
        let (collection, id) = (arguments.operands[1], arguments.operands[2])
        let reader = try onStore(at: path) { () throws(StorageError) in
            try LogReader.open(at: path)
        }
        let log = try onStore(at: path) { () throws(StorageError) in try reader.snapshot() }
        let reading = DocumentReading(reader)
        let snapshot = DocumentSnapshot(log, try reading.namesAndCollections())
        guard let key = try reading.key(collection: collection, id: id),
            let blame = try blame(key, in: snapshot, at: path)
        else {
            throw .failed("no document \("\(id)".shortened) in collection \(collection.shortened)")
        }
        if !arguments.has("json"), !blame.exists {
            let time = blame.deletion.map { Timestamp.text($0.time.milliseconds) } ?? ""
            let site = blame.deletion.map { $0.site.text } ?? ""
            output.write("the document was deleted at \(time) by \(site)")
        }
        let width = blame.lines.map { DocumentReading.text($0.path).utf8.count }.max() ?? 0
        for line in blame.lines {
            output.write(arguments.has("json") ? json(line) : text(line, width: width))
        }
        return .ok
    }

    private static func blame(
        _ key: [UInt8], in snapshot: DocumentSnapshot, at path: String
    ) throws(ToolError) -> Blame? {
        do throws(EngineError) {
            return try snapshot.blame(key)
        } catch {
            if case .storage(let error) = error { throw .storage(error, at: path) }
            throw .failed("\(path.shortened(to: ErrorText.limit)): \(error)")
        }
    }

    private static func text(_ line: Blame.Line, width: Int) -> String {
        let path = DocumentReading.text(line.path)
        let gap = String(repeating: " ", count: max(0, width - path.utf8.count))
        let commit = (line.isExact ? "" : "<= ") + "\(line.commit)"
        let time =
            line.stamp == .initial
            ? "initial"
            : "\(Timestamp.text(line.stamp.time.milliseconds))"
                + "  \(line.stamp.site.text)"
        return "\(path)\(gap)  commit \(commit)  \(time)  \(content(line))"
    }

    private static func content(_ line: Blame.Line) -> String {
        let value = line.value.map(DocumentLines.text) ?? ""
        switch line.kind {
        case .value: return value
        case .mark: return "(object)"
        case .token: return "attachment \(value)"
        case .restart: return "restart \(value)"
        case .sum, .olderSum: return "+ \(value)"
        case .overrides, .empty, .named: return ""
        }
    }

    private static func json(_ blame: Blame.Line) -> String {
        var line = JSONLine()
        line.add("path", blame.path)
        line.add("kind", "\(blame.kind)")
        line.add("value", raw: blame.value?.json ?? "null")
        line.add("commit", blame.commit)
        line.add("isExact", blame.isExact)
        line.add("time", at: blame.stamp == .initial ? nil : blame.stamp.time.milliseconds)
        line.add("stamp", blame.stamp.time.rawValue)
        line.add("site", blame.stamp.site.text)
        return line.closed
    }
}
