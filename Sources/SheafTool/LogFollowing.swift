import SheafStorage

/// The execution of `sheaf log --follow`.
struct LogFollowing {
    /// Interval between checks for a signal and for a closed pipe.
    private static let checkMilliseconds = 100

    private let path: String
    private let format: LogCommand.Format
    private let limit: Int
    private let output: Output

    init(_ path: String, _ format: LogCommand.Format, limit: Int, _ output: Output) {
        (self.path, self.format, self.limit, self.output) = (path, format, limit, output)
    }

    /// Prints the commits after `since`, or only new ones, until a signal arrives.
    func run(since: CommitID?) throws(ToolError) -> ExitCode {
        let signals = try StopSignals()
        var reader = try onStore(at: path) { () throws(StorageError) in
            try LogReader.open(at: path)
        }
        // Only the full format needs the names of documents, for which all keys are read once.
        let names = try format == .full ? follower(reader) : nil
        var last = if let since { since } else { try newest(reader) }
        var count = 0
        var watch: (any VolumeWatch)?
        while count < limit {
            count += try write(reader, names, after: &last, atMost: limit - count)
            output.flush()
            guard count < limit, !output.isClosed, !output.isReaderGone else { break }
            if watch == nil { watch = reader.watch() }
            if let watch {
                watch.wait(milliseconds: Self.checkMilliseconds)
                guard !signals.wait(milliseconds: 0) else { break }
            } else if signals.wait(milliseconds: UInt64(Self.checkMilliseconds)) {
                break
            }
            let current = reader
            let newer = try onStore(at: path) { () throws(StorageError) in try current.newer() }
            if let newer {
                reader = newer
                _ = try onStore(at: path) { () throws(StorageError) in try names?.advance() }
            }
        }
        return .ok
    }

    private func follower(_ reader: LogReader) throws(ToolError) -> LogFollower {
        try onStore(at: path) { () throws(StorageError) in try LogFollower(reader) }
    }

    /// Returns the newest commit; zero if there is none.
    private func newest(_ reader: LogReader) throws(ToolError) -> CommitID {
        var commits = reader.commits()
        var last: CommitID = 0
        while let commit = try LogCommand.next(&commits, at: path) { last = commit.id }
        return last
    }

    /// Writes the commits after `last`; returns their number.
    private func write(
        _ reader: LogReader, _ names: LogFollower?, after last: inout CommitID, atMost limit: Int
    ) throws(ToolError) -> Int {
        let reading = names.map { DocumentReading($0.snapshot) } ?? DocumentReading(reader)
        var commits = reader.commits(since: last)
        var count = 0
        while count < limit, !output.isClosed, let commit = try LogCommand.next(&commits, at: path)
        {
            output.write(LogCommand.text(of: commit, format, reading))
            last = commit.id
            count += 1
        }
        return count
    }
}
