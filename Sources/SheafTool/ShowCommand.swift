import SheafBytes
import SheafStorage

extension Command {
    /// The command `sheaf show`.
    static let show = Command(
        name: "show", summary: "show the operations of a commit", operands: ["PATH", "COMMIT"],
        options: [
            Option(name: "payload", value: "KEY", summary: "print the raw payload of one key"),
            Option(name: "bytes", summary: "print keys and payloads as bytes, not as documents"),
            .json,
        ],
        details: """
            The line of a document has its collection, its id, and whether the commit wrote the
            complete document or a delta; its visible value and the paths that the commit changed
            and removed follow. Other operations are shown as bytes.

            A key is shown as text, with a backslash doubled and an unprintable byte as \\xNN.
            --payload accepts a key in this form.

            JSON keys: commit, operation (put, remove or delta), key, keyHex, payloadBytes,
            preview, position, previous (null if there is none), compacted. There is one line per
            operation.

            A document also has collection, id, form (state, tombstone, delta or evict), value
            (null in a delta), changed and removed; the origin of a received commit has site,
            stamp, peer and peerCommit; a name has name or collection, and number; an index has
            collection, number, index and fields. Other operations of a document store have site,
            formerSites, clock, otherSite and pauses, import, collection and imported, or
            attachment and proven.
            """,
        run: ShowCommand.run)
}

/// The implementation of `sheaf show`.
enum ShowCommand {
    /// Maximum number of payload bytes shown.
    private static let previewLength = 48

    @Sendable static func run(
        _ arguments: Arguments, _ output: Output
    ) throws(ToolError) -> ExitCode {
        let id = try Arguments.number(arguments.operands[1], of: "COMMIT")
        let path = arguments.operands[0]
        let reader = try onStore(at: path) { () throws(StorageError) in
            try LogReader.open(at: path)
        }
        // The bytes of the commit are valid as long as the reader.
        defer { withExtendedLifetime(reader) {} }
        let commit = try find(id, in: reader, at: path)
        let operations = try onStore(at: path) { () throws(StorageError) in
            try commit.operations()
        }
        if let key = arguments.value("payload") {
            try writePayload(of: key, in: operations, commit: id, output)
            return .ok
        }
        if !arguments.has("json") { output.write(headline(commit)) }
        let reading = arguments.has("bytes") ? nil : DocumentReading(reader)
        for operation in operations {
            let meaning = reading?.meaning(of: operation.operation)
            if arguments.has("json") {
                output.write(json(operation, of: commit, meaning))
            } else if let meaning {
                for line in DocumentLines.lines(meaning, operation) { output.write(line) }
            } else {
                output.write(line(operation))
            }
        }
        return .ok
    }

    private static func find(
        _ id: CommitID, in reader: LogReader, at path: String
    ) throws(ToolError) -> LoggedCommit {
        let found = try onStore(at: path) { () throws(StorageError) in try reader.commit(id) }
        if let found { return found }
        guard id > 0, id <= reader.lastCompactedCommit else {
            throw .failed("no commit \(id); 'sheaf log' lists the commits")
        }
        throw .failed(
            "commit \(id) was compacted completely: the history up to commit "
                + "\(reader.lastCompactedCommit) is compacted")
    }

    private static func writePayload(
        of text: String, in operations: [LoggedOperation], commit: CommitID, _ output: Output
    ) throws(ToolError) {
        guard let key = ReadableBytes.bytes(text) else {
            throw .usage("invalid KEY: a backslash must be followed by another one or by xNN")
        }
        // If several operations change the key, the last one determines its payload.
        guard let found = operations.last(where: { $0.operation.key.elementsEqual(key) }) else {
            throw .failed("commit \(commit) has no operation on the key '\(text.shortened)'")
        }
        guard found.operation.kind != .remove else {
            throw .failed("commit \(commit) removes the key '\(text.shortened)'")
        }
        output.write(raw: found.operation.payload)
    }

    private static func headline(_ commit: LoggedCommit) -> String {
        let time = commit.time.map { "at \(Timestamp.text($0))" } ?? "compacted"
        return
            "commit \(commit.id) \(time), \(Quantity.count(commit.operationCount, "operation")), "
            + Quantity.count(commit.byteCount, "byte")
    }

    private static func line(_ logged: LoggedOperation) -> String {
        let operation = logged.operation
        let key = ReadableBytes.text(operation.key)
        let previous = operation.previous == .none ? "" : ", after \(operation.previous)"
        switch operation.kind {
        case .put, .delta:
            let length = Quantity.count(operation.payload.count, "byte")
            let verb = operation.kind == .put ? "put   " : "delta "
            return "\(verb)  \(key)  \(length)\(previous)  \(preview(operation))"
        case .remove:
            return "remove  \(key)\(previous)"
        }
    }

    private static func name(of kind: Operation.Kind) -> String {
        switch kind {
        case .put: "put"
        case .remove: "remove"
        case .delta: "delta"
        }
    }

    private static func preview(_ operation: Operation) -> String {
        let text = ReadableBytes.text(operation.payload.prefix(previewLength))
        return operation.payload.count > previewLength ? text + "..." : text
    }

    private static func json(
        _ logged: LoggedOperation, of commit: LoggedCommit, _ meaning: DocumentReading.Meaning?
    ) -> String {
        let operation = logged.operation
        var line = JSONLine()
        line.add("commit", commit.id)
        line.add("operation", name(of: operation.kind))
        line.add("key", ReadableBytes.text(operation.key))
        line.add("keyHex", ReadableBytes.hexadecimal(operation.key))
        line.add("payloadBytes", operation.payload.count)
        line.add("preview", preview(operation))
        line.add("position", logged.position.description)
        line.add("previous", operation.previous == .none ? nil : operation.previous.description)
        line.add("compacted", commit.isCompacted)
        if let meaning { DocumentLines.add(meaning, to: &line) }
        return line.closed
    }
}
