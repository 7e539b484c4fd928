import SheafBytes

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

extension Command {
    /// The command `sheaf demo`.
    static let demo = Command(
        name: "demo", summary: "show writes, queries, observers, and three peers that sync",
        operands: [],
        options: [
            Option(
                name: "store", value: "PATH",
                summary: "create the store at PATH, not in the temporary directory"),
            .json,
        ],
        details: """
            Creates a store on disk, writes to it, queries and observes it. Then three peers in the
            memory of this process sync it, disconnect, edit the same document, and sync again.
            The store is kept, and the last lines are commands to explore it.

            JSON keys: title, step (a sentence), statement, peer, document, milliseconds, command.
            Keys that do not apply are null. Times are measured once, in this run.
            """,
        run: { (arguments, output) throws(ToolError) in
            let isJSON = arguments.has("json")
            let path = try storePath(arguments.value("store"))
            guard access(path, F_OK) != 0 else {
                throw .failed("\(path.shortened) exists already; --store requires a new path")
            }
            let steps =
                try waitFor { try await Demo.play(at: path) } + DemoCommands.steps(for: path)
            for step in steps { output.write(isJSON ? step.json : step.text) }
            return .ok
        })

    /// Returns `path`, or a path in a new directory in the temporary directory.
    private static func storePath(_ path: String?) throws(ToolError) -> String {
        if let path { return path }
        let parent = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
        var template = Array("\(parent)/sheaf-demo-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else {
            throw .failed(
                "cannot create a directory in \(parent.shortened): "
                    + String(cString: strerror(errno)))
        }
        return String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
            + "/ann"
    }
}
