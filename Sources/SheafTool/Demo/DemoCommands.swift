#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// The commands that explore the store that the demonstration leaves.
enum DemoCommands {
    /// Returns the last lines of the demonstration; `path` is that of the store.
    static func steps(for path: String) -> [DemoStep] {
        let store = quoted(path)
        var commands = [
            "sheaf query \(store) \"SELECT * FROM trips\"",
            "sheaf query \(store) \"SELECT COUNT(*) FROM huts\" --explain",
            "sheaf blame \(store) trips alps",
            "sheaf log \(store)",
            "sheaf verify \(store)",
            "sheaf help",
        ]
        if let program { commands.insert("alias sheaf=\(quoted(program))", at: 0) }
        return [DemoStep(content: .title("Try next, with the store of Ann:"))]
            + commands.map { DemoStep(content: .command($0)) }
    }

    /// The absolute path of the tool, if it was started by a path, or nil if the shell found it.
    private static var program: String? {
        guard let name = CommandLine.unsafeArgv[0], strchr(name, CInt(UInt8(ascii: "/"))) != nil,
            let path = realpath(name, nil)
        else { return nil }
        defer { free(path) }
        return String(cString: path)
    }

    /// Quotes a path for a shell, if it needs quotes.
    private static func quoted(_ path: String) -> String {
        let isPlain = path.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "/"), UInt8(ascii: "."),
                UInt8(ascii: "_"), UInt8(ascii: "-"):
                true
            default: false
            }
        }
        return isPlain
            ? path
            : "'"
                + path.split(separator: "'", omittingEmptySubsequences: false)
                .joined(separator: "'\\''") + "'"
    }
}
