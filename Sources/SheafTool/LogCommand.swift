import SheafStorage

extension Command {
    /// The command `sheaf log`.
    static let log = Command(
        name: "log", summary: "list the commits of a store", operands: ["PATH"],
        options: [
            Option(name: "since", value: "COMMIT", summary: "list commits after this one"),
            Option(
                name: "limit", value: "N",
                summary: "list the first N commits, with --reverse the newest N"),
            Option(name: "reverse", summary: "list the newest commits first"),
            Option(name: "oneline", summary: "print the commit, its operations and its bytes only"),
            Option(name: "follow", summary: "print each new commit when it is durable"),
            .json,
        ],
        details: """
            Each line has the commit, its time, its operations, its bytes, its position (segment
            and offset), and its first documents. Compaction keeps the live operations of a
            compacted commit, but not its time.

            --follow prints the commits after COMMIT, if --since is given, and then each new commit
            of any process. It ends with exit code 0: by Ctrl-C, after N commits with --limit, or
            when the reader of a pipe closes it. Each line is written immediately:

              sheaf log cars.sheaf --follow --json | jq -c '[.commit, .operations]'

            JSON keys: commit, time, timeMilliseconds, operations, bytes, position, compacted. The
            time of a compacted commit is null.
            """,
        run: LogCommand.run)
}

/// The implementation of `sheaf log`.
enum LogCommand {
    enum Format { case full, short, json }

    @Sendable static func run(
        _ arguments: Arguments, _ output: Output
    ) throws(ToolError) -> ExitCode {
        let since = try arguments.number("since") ?? 0
        let limit = try arguments.number("limit").map { Int(clamping: $0) } ?? .max
        let format: Format =
            arguments.has("json") ? .json : arguments.has("oneline") ? .short : .full
        let path = arguments.operands[0]
        if arguments.has("follow") {
            guard !arguments.has("reverse") else {
                throw .usage("--follow and --reverse are mutually exclusive")
            }
            let given = try arguments.number("since")
            return try LogFollowing(path, format, limit: limit, output).run(since: given)
        }
        let reader = try onStore(at: path) { () throws(StorageError) in
            try LogReader.open(at: path)
        }
        let reading = DocumentReading(reader)
        var commits = reader.commits(since: since)
        if arguments.has("reverse") {
            try writeReversed(&commits, at: path, limit: limit, output, format, reading)
        } else {
            var count = 0
            while count < limit, !output.isClosed {
                guard let commit = try next(&commits, at: path) else { break }
                output.write(text(of: commit, format, reading))
                count += 1
            }
        }
        if let torn = commits.tornTail {
            output.printError("a torn tail, which the next opening truncates: \(torn)")
        }
        return .ok
    }

    /// Returns the line of a commit.
    static func text(
        of commit: LoggedCommit, _ format: Format, _ reading: DocumentReading
    ) -> String {
        switch format {
        case .json: json(commit)
        case .short: short(commit)
        case .full: line(commit, reading)
        }
    }

    /// Returns the next commit, or nil at the end.
    static func next(
        _ commits: inout CommitReader, at path: String
    ) throws(ToolError) -> LoggedCommit? {
        do throws(StorageError) {
            return try commits.next()
        } catch {
            throw .storage(error, at: path)
        }
    }

    private static func writeReversed(
        _ commits: inout CommitReader, at path: String, limit: Int, _ output: Output,
        _ format: Format, _ reading: DocumentReading
    ) throws(ToolError) {
        var lines: [String] = []
        while let commit = try next(&commits, at: path) {
            lines.append(text(of: commit, format, reading))
            // Trimmed in batches, so that a small limit on a long log needs little memory.
            if lines.count / 2 > max(limit, 1_024) { lines.removeFirst(lines.count - limit) }
        }
        for line in lines.suffix(limit).reversed() { output.write(line) }
    }

    private static func line(_ commit: LoggedCommit, _ reading: DocumentReading) -> String {
        let time = commit.time.map(Timestamp.text) ?? "compacted               "
        return "\(commit.id)  \(time)  \(size(commit))  at \(commit.position)"
            + DocumentLines.summary((try? commit.operations()) ?? [], reading)
    }

    private static func short(_ commit: LoggedCommit) -> String {
        "\(commit.id)  \(size(commit))"
    }

    private static func size(_ commit: LoggedCommit) -> String {
        Quantity.count(commit.operationCount, "op") + "  "
            + Quantity.count(commit.byteCount, "byte")
    }

    private static func json(_ commit: LoggedCommit) -> String {
        var line = JSONLine()
        line.add("commit", commit.id)
        line.add("time", at: commit.time)
        line.add("operations", commit.operationCount)
        line.add("bytes", commit.byteCount)
        line.add("position", commit.position.description)
        line.add("compacted", commit.isCompacted)
        return line.closed
    }
}
