import Sheaf
import SheafBytes
import SheafCompletion
import SheafDocument
import SheafQuery
import SheafStatements
import SheafStore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Commands about the store.
extension ShellCommand {
    static let storeCommands = [
        ShellCommand(
            name: ".help", arguments: "[NAME]", summary: "list the commands, or describe one",
            details: "NAME is a command, or an element of the query language such as SELECT.",
            completion: .command,
            run: { (words, session) throws(ToolError) in try help(words.text, session) }),
        ShellCommand(
            name: ".open", arguments: "[PATH]", summary: "open another store",
            details: "Without PATH, it opens a new scratch store in memory with sample data.",
            completion: .file,
            run: { (words, session) throws(ToolError) in
                try session.open(try words.optional())
            }),
        ShellCommand(
            name: ".release", summary: "close the store, so that other processes can write to it",
            details: """
                The first statement that writes opens the store for writing; from then on other
                processes can only read it. After .release, the next statement that writes opens it
                for writing again.
                """,
            run: { (words, session) throws(ToolError) in
                try words.none()
                let wasWriting = try session.store.release()
                session.output.print(
                    note: wasWriting
                        ? "released \(session.store.name.shortened)"
                        : "the store is not open for writing")
            }),
    ]

    private static func help(_ text: String, _ session: ShellSession) throws(ToolError) {
        guard !text.isEmpty else { return session.output.write(overview) }
        if let command = named(text.hasPrefix(".") ? text : "." + text),
            text.hasPrefix(".") || LanguageHelp.text(of: [text]) == nil
        {
            return session.output.write(command.help)
        }
        let text = text.hasSuffix(";") ? String(text.dropLast()) : text
        guard let entry = LanguageHelp.text(of: [text]) else {
            let near = OptionSuggestion.text(
                for: text.lowercased(), among: names + LanguageHelp.names)
            throw .usage("there is no entry '\(text.shortened)'\(near); see .help")
        }
        session.output.write(entry)
    }

    static let catalogCommands = [
        ShellCommand(
            name: ".collections", aliases: [".tables"],
            summary: "list the collections with their document counts",
            run: { (words, session) throws(ToolError) in
                try words.none()
                try session.run(
                    statement:
                        "SELECT name, documents FROM system:collections ORDER BY name")
            }),
        ShellCommand(
            name: ".fields", aliases: [".schema"], arguments: "[COLLECTION]",
            summary: "list the fields of documents, with their types and frequencies",
            details: """
                Documents have no fixed schema, so the fields are those of a sample of at most
                \(maximumSample) documents, spread evenly over the collection.
                """,
            completion: .collection,
            run: { (words, session) throws(ToolError) in
                try fields(try words.optional(), session)
            }),
        ShellCommand(
            name: ".indexes", arguments: "[COLLECTION]", summary: "list the indexes",
            completion: .collection,
            run: { (words, session) throws(ToolError) in
                try indexes(try words.optional(), session)
            }),
    ]

    /// Maximum number of documents that `.fields` reads of a collection.
    private static let maximumSample = 1_000

    private static func fields(
        _ name: String?, _ session: ShellSession
    ) throws(ToolError) {
        let store = try session.store.reading()
        let names = try collections(name, in: store, session)
        var rows: [Object] = []
        var partial: [String] = []
        for collection in names {
            let sample: FieldSample
            do throws(StoreError) {
                let count = try count(of: collection, in: store)
                sample = try FieldSample(
                    spread: maximumSample, of: collection, count: count, in: store)
                if sample.isPartial {
                    partial.append("\(sample.documentCount) of \(count) documents of \(collection)")
                }
            } catch {
                throw .statement(error, at: session.store.name)
            }
            for field in sample.fields {
                var row: Object = [
                    "field": .string(field.spelling), "types": .string(field.typeText),
                    "documents": .string(
                        FieldSample.percent(field.count, of: sample.documentCount)),
                ]
                if name == nil { row["collection"] = .string(collection) }
                rows.append(row)
            }
        }
        let columns = (name == nil ? ["collection"] : []) + ["field", "types", "documents"]
        try session.print(rows, columns: columns)
        if !partial.isEmpty {
            session.output.print(
                note: TerminalText.visible(
                    "from a sample: " + partial.joined(separator: ", ").shortened(to: 400)))
        }
    }

    private static func count(of collection: String, in store: Store) throws(StoreError) -> Int {
        let name = NameSpelling.quoted(collection)
        let statement = try Parser.parse("SELECT COUNT(*) AS count FROM \(name)")
        let result = try store.queries.execute(statement, ArgumentValues())
        var count = 0
        try ResultRows(result).forEach { (row) throws(StoreError) in
            if case .integer(let number)? = row["count"] { count = Int(number) }
            return false
        }
        return count
    }

    /// Returns the named collection, or all if there is no name; throws if it does not exist.
    private static func collections(
        _ name: String?, in store: Store, _ session: ShellSession
    ) throws(ToolError) -> [String] {
        let known = StatementCompletion.collections(of: store)
        guard let name else { return known }
        guard known.contains(name) else {
            throw .failed(
                "there is no collection '\(name.shortened)'"
                    + OptionSuggestion.text(for: name, among: known) + "; see .collections")
        }
        return [name]
    }

    private static func indexes(_ name: String?, _ session: ShellSession) throws(ToolError) {
        let store = try session.store.reading()
        let collections = try collections(name, in: store, session)
        let snapshot = store.queries.snapshot()
        var rows: [Object] = []
        for collection in collections {
            for index in snapshot.knownIndexes(of: collection) {
                let fields = index.fields.map { field in
                    field.path.map(NameSpelling.text).joined(separator: ".")
                        + (field.isDescending ? " DESC" : "")
                }
                rows.append([
                    "index": .string(index.name), "collection": .string(collection),
                    "fields": .string(fields.joined(separator: ", ")),
                ])
            }
        }
        try session.print(rows, columns: ["index", "collection", "fields"])
        if rows.isEmpty { session.output.print(note: "there are no indexes") }
    }
}

extension ShellSession {
    /// Closes the store, and opens the one at a path, or else a scratch store.
    func open(_ path: String?) throws(ToolError) {
        let next: ShellStore
        if let path {
            next = ShellStore(
                path: path, isReadOnly: store.isReadOnly, announces: isInteractive, output)
            // A path that exists but is not a store is refused before the current store is closed.
            if next.exists { _ = try next.reading() }
        } else {
            next = ShellStore(memory: try SampleData.store(), output)
        }
        try store.close()
        store = next
        completion = ShellCompletion()
        guard next.exists else {
            return output.print(
                note: "\(next.name.shortened) does not exist yet; "
                    + "the first statement that writes creates it")
        }
        output.print(note: "opened \(next.name.shortened)")
    }
}
