import Sheaf
import SheafBytes
import SheafDocument
import SheafEngine
import SheafReplication
import SheafStorage
import SheafSystem

extension Command {
    /// The command `sheaf clock`.
    static let clock = Command(
        name: "clock", summary: "list or repair stamps that are ahead of the clock",
        operands: ["PATH"],
        options: [
            Option(
                name: "repair",
                summary: "rewrite the documents with current stamps, in ordinary commits"),
            .json,
        ],
        details: """
            A store that wrote while its clock was ahead has stamps in the future and continues
            from the latest of them. Other peers quarantine such documents until their clocks
            reach the stamps. Set the clock first, then run this command on the store that wrote
            the stamps. --repair requires that the store is not in use; its peers receive the
            documents after it is reopened. Repair one store, and wait until all peers have
            synced, before repairing another one.

            Each line shows how far the latest stamp of a site is ahead, the site, the number of
            stamps, the collection, and the id of the document.

            JSON keys: type "clock" has aheadMilliseconds, null if the clock of the store is not
            ahead. Type "document" has collection, id, site, time, timeMilliseconds, stamp,
            aheadMilliseconds and stamps. With --repair the only line has the type "repair", and
            documents, clockAheadMilliseconds and commit.
            """,
        run: ClockCommand.run)
}

/// The implementation of `sheaf clock`.
enum ClockCommand {
    @Sendable static func run(
        _ arguments: Arguments, _ output: Output
    ) throws(ToolError) -> ExitCode {
        let path = arguments.operands[0]
        return arguments.has("repair")
            ? try repair(path, isJSON: arguments.has("json"), output)
            : try list(path, isJSON: arguments.has("json"), output)
    }

    // MARK: Listing

    private static func list(
        _ path: String, isJSON: Bool, _ output: Output
    ) throws(ToolError) -> ExitCode {
        let reader = try onStore(at: path) { () throws(StorageError) in
            try LogReader.open(at: path)
        }
        let log = try onStore(at: path) { () throws(StorageError) in try reader.snapshot() }
        let snapshot = DocumentSnapshot(log, try DocumentReading(reader).namesAndCollections())
        let wall = Clock.system.wallMilliseconds()
        var count = 0
        do throws(EngineError) {
            let survey = try ClockSurvey(of: snapshot, at: wall)
            write(survey, isJSON: isJSON, output)
            try ClockSurvey.forEachLine(of: snapshot, aheadOf: wall) { line in
                count += 1
                output.write(isJSON ? json(line) : text(line))
            }
        } catch {
            throw failure(error, at: path)
        }
        if !isJSON, count == 0 { output.write("no document has a stamp ahead of the clock") }
        return .ok
    }

    private static func write(_ survey: ClockSurvey, isJSON: Bool, _ output: Output) {
        guard isJSON else {
            output.write(
                survey.clockAheadMilliseconds.map {
                    "the clock of the store is \(ClockReport.text($0)) ahead"
                } ?? "the clock of the store is not ahead")
            return
        }
        var line = JSONLine()
        line.add("type", "clock")
        line.add("aheadMilliseconds", survey.clockAheadMilliseconds)
        output.write(line.closed)
    }

    private static func text(_ line: ClockSurvey.Line) -> String {
        let stamps = line.count == 1 ? "1 stamp" : "\(line.count) stamps"
        return TerminalText.visible(
            "\(ClockReport.text(line.aheadMilliseconds)) ahead  \(line.stamp.site.text)  "
                + "\(stamps)  \(line.collection)  \(line.id.json)")
    }

    private static func json(_ ahead: ClockSurvey.Line) -> String {
        var line = JSONLine()
        line.add("type", "document")
        line.add("collection", ahead.collection)
        line.add("id", raw: ahead.id.json)
        line.add("site", ahead.stamp.site.text)
        line.add("time", at: ahead.stamp.time.milliseconds)
        line.add("stamp", ahead.stamp.time.rawValue)
        line.add("aheadMilliseconds", ahead.aheadMilliseconds)
        line.add("stamps", ahead.count)
        return line.closed
    }

    // MARK: Repairing

    private static func repair(
        _ path: String, isJSON: Bool, _ output: Output
    ) throws(ToolError) -> ExitCode {
        var options = LogStoreOptions()
        options.runsMaintenance = false
        let repair: ClockRepair
        do throws(EngineError) {
            repair = try StoreClockRepair.run(at: path, options: options)
        } catch {
            throw failure(error, at: path)
        }
        guard isJSON else {
            let documents =
                repair.documentCount == 1
                ? "1 document was" : "\(repair.documentCount) documents were"
            let clock =
                repair.clockAheadMilliseconds.map {
                    "the clock of the store was \(ClockReport.text($0)) ahead and was reset; "
                } ?? ""
            output.write(clock + documents + " rewritten")
            return .ok
        }
        var line = JSONLine()
        line.add("type", "repair")
        line.add("documents", repair.documentCount)
        line.add("clockAheadMilliseconds", repair.clockAheadMilliseconds)
        line.add("commit", repair.commit)
        output.write(line.closed)
        return .ok
    }

    private static func failure(_ error: EngineError, at path: String) -> ToolError {
        if case .storage(let error) = error { return .storage(error, at: path) }
        return .failed("\(path.shortened(to: ErrorText.limit)): \(error)")
    }
}
