import SheafBytes
import SheafDocument
import SheafEngine
import SheafQuery
import SheafStorage

extension Command {
    /// The command `sheaf diff`.
    static let diff = Command(
        name: "diff", summary: "list the documents that differ between two stores",
        operands: ["A", "B"],
        options: [
            Option(name: "fields", summary: "also list the differing fields with their values"),
            Option(name: "counts", summary: "print only the numbers of documents"),
            .json,
        ],
        details: """
            Compares the visible documents of all collections, or of those named. A line begins
            with - if only A has the document, with + if only B has it, and with ~ if fields
            differ. A field differs if its value or its type does: 1 and 1.0, or a counter and a
            number, are different. History, deleted documents, indexes and the bytes of attachments
            are not compared; attachments differ if their tokens do.

            The exit code is 0 if all documents are equal. It is 1 if any differs, and also if the
            command fails, with a message on standard error.

            JSON keys: type "document" has collection, id and difference (onlyA, onlyB or fields);
            with --fields also fields, a list of path, a, aType, b and bType, where a missing field
            has null as its type. With --counts, type "counts" has collection, equal, onlyA, onlyB
            and different; there is one line per collection.
            """,
        furtherOperands: "COLLECTION", run: DiffCommand.run)
}

/// The implementation of `sheaf diff`.
enum DiffCommand {
    @Sendable static func run(
        _ arguments: Arguments, _ output: Output
    ) throws(ToolError) -> ExitCode {
        guard !arguments.has("counts") || !arguments.has("fields") else {
            throw .usage("--counts and --fields are mutually exclusive")
        }
        let paths = (arguments.operands[0], arguments.operands[1])
        let left = try snapshot(at: paths.0)
        let right = try snapshot(at: paths.1)
        let comparison: StoreComparison
        do throws(EngineError) {
            comparison = try StoreComparison(left, right)
        } catch {
            throw failure(error, paths)
        }
        let collections = try collections(Array(arguments.operands.dropFirst(2)), comparison)
        let hasCounts = arguments.has("counts")
        // Nothing is read if the logs are the same.
        if comparison.isSameLog, !hasCounts { return .ok }
        let printer = DifferencePrinter(
            output, isJSON: arguments.has("json"), hasFields: arguments.has("fields"))
        var isEqual = true
        for collection in collections {
            let counts: StoreComparison.Counts
            do throws(EngineError) {
                counts = try comparison.compare(collection) { difference in
                    if !hasCounts { printer.print(difference) }
                }
            } catch {
                throw failure(error, paths)
            }
            if hasCounts { printer.print(counts) }
            if !counts.isEqual { isEqual = false }
        }
        return isEqual ? .ok : .different
    }

    private static func snapshot(at path: String) throws(ToolError) -> LogSnapshot {
        try onStore(at: path) { () throws(StorageError) in
            let reader = try LogReader.open(at: path)
            return try reader.snapshot()
        }
    }

    private static func failure(
        _ error: EngineError, _ paths: (String, String)
    ) -> ToolError {
        if case .storage(let error) = error { return .storage(error, at: nil) }
        return .damaged(
            "\(paths.0.shortened(to: ErrorText.limit)) or "
                + "\(paths.1.shortened(to: ErrorText.limit)): \(error)")
    }

    /// Returns the named collections; throws if neither store has one of them.
    private static func collections(
        _ named: [String], _ comparison: StoreComparison
    ) throws(ToolError) -> [String] {
        let all = comparison.collections
        guard !named.isEmpty else { return all }
        for name in named where !all.contains(name) {
            throw .failed(
                "neither store has a collection '\(name.shortened)'"
                    + OptionSuggestion.text(for: name, among: all))
        }
        return all.filter { named.contains($0) }
    }
}

/// A printer of differences, as text or as JSON.
struct DifferencePrinter {
    private let output: Output
    private let isJSON: Bool
    private let hasFields: Bool

    init(_ output: Output, isJSON: Bool, hasFields: Bool) {
        self.output = output
        self.isJSON = isJSON
        self.hasFields = hasFields
    }

    /// Prints a document.
    func print(_ difference: DocumentDifference) {
        if isJSON { return output.write(json(difference)) }
        let sign =
            switch difference.kind {
            case .onlyLeft: "-"
            case .onlyRight: "+"
            case .fields: "~"
            }
        output.write("\(sign) \(Self.name(difference.collection)) \(Self.text(difference.id))")
        guard hasFields, case .fields(let fields) = difference.kind else { return }
        for field in fields {
            let isTyped = field.left?.part != field.right?.part
            output.write(
                "    \(DocumentReading.text(field.path))  \(Self.text(field.left, isTyped)) -> "
                    + Self.text(field.right, isTyped))
        }
    }

    /// Prints the numbers of a collection.
    func print(_ counts: StoreComparison.Counts) {
        guard isJSON else {
            return output.write(
                "\(Self.name(counts.collection)): \(counts.equal) equal, \(counts.different) "
                    + "different, \(counts.onlyLeft) only in A, \(counts.onlyRight) only in B")
        }
        var line = JSONLine()
        line.add("type", "counts")
        line.add("collection", counts.collection)
        line.add("equal", counts.equal)
        line.add("onlyA", counts.onlyLeft)
        line.add("onlyB", counts.onlyRight)
        line.add("different", counts.different)
        output.write(line.closed)
    }

    private func json(_ difference: DocumentDifference) -> String {
        var line = JSONLine()
        line.add("type", "document")
        line.add("collection", difference.collection)
        line.add("id", raw: difference.id.json)
        switch difference.kind {
        case .onlyLeft: line.add("difference", "onlyA")
        case .onlyRight: line.add("difference", "onlyB")
        case .fields(let fields):
            line.add("difference", "fields")
            guard hasFields else { break }
            let lines = fields.map { field in
                var line = JSONLine()
                line.add("path", field.path)
                line.add("a", raw: field.left?.value.json ?? "null")
                line.add("aType", field.left.map { Self.type($0) })
                line.add("b", raw: field.right?.value.json ?? "null")
                line.add("bType", field.right.map { Self.type($0) })
                return line.closed
            }
            line.add("fields", raw: "[" + lines.joined(separator: ",") + "]")
        }
        return line.closed
    }

    private static func name(_ collection: String) -> String {
        ReadableBytes.text(Array(collection.utf8))
    }

    private static func text(_ value: Value) -> String { TerminalText.visible(value.json) }

    private static func text(_ side: FieldDifference.Side?, _ isTyped: Bool) -> String {
        guard let side else { return "(missing)" }
        return text(side.value) + (isTyped ? " (\(type(side)))" : "")
    }

    private static func type(_ side: FieldDifference.Side) -> String {
        switch side.part {
        case .register: "register"
        case .attachment: "attachment"
        case .map: "map"
        case .counter: "counter"
        case .olderCounter: "pn_counter"
        }
    }
}
