import Sheaf
import SheafBytes

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Commands about the input and the shell itself.
extension ShellCommand {
    /// Maximum nesting of `.read`.
    private static let maximumReadDepth = 16

    static let inputCommands = [
        ShellCommand(
            name: ".read", arguments: "FILE", summary: "run the statements and commands of a file",
            details: "It stops at the first error.", completion: .file,
            run: { (words, session) throws(ToolError) in
                try read(try words.required(), session)
            }),
        ShellCommand(
            name: ".print", arguments: "TEXT", summary: "print a text",
            run: { (words, session) throws(ToolError) in
                session.output.write(words.words.joined(separator: " "))
            }),
        ShellCommand(
            name: ".cd", arguments: "DIRECTORY", summary: "change the working directory",
            completion: .file,
            run: { (words, session) throws(ToolError) in
                let path = try words.required()
                guard chdir(path) == 0 else {
                    throw .failed(
                        "cannot enter \(path.shortened): \(String(cString: strerror(errno)))")
                }
            }),
        ShellCommand(
            name: ".system", aliases: [".shell"], arguments: "COMMAND",
            summary: "run a command with /bin/sh", completion: .file,
            run: { (words, session) throws(ToolError) in
                guard !words.text.isEmpty else { throw .usage("usage: .system COMMAND") }
                let code = try ChildProcess.run(script: words.text, session)
                if code != 0 { throw .failed("the command ended with exit code \(code)") }
            }),
        ShellCommand(
            name: ".settings", summary: "print the settings of the shell",
            run: { (words, session) throws(ToolError) in
                try words.none()
                settings(of: session)
            }),
        ShellCommand(
            name: ".quit", aliases: [".exit"], summary: "exit the shell",
            run: { (words, session) throws(ToolError) in
                try words.none()
                session.isEnded = true
            }),
    ]

    private static func settings(of session: ShellSession) {
        let store = session.store
        let access =
            store.path == nil
            ? "in memory" : store.isReadOnly ? "read only" : store.isWriting ? "writing" : "reading"
        let lines = [
            ("store", "\(store.name) (\(access))"), ("mode", session.mode.rawValue),
            ("timer", session.isTiming ? "on" : "off"),
            ("explain", session.prefix == .explain ? "on" : "off"),
            ("profile", session.prefix == .profile ? "on" : "off"),
            ("output", session.standardOutput == nil ? "standard output" : "a file"),
            ("params", Quantity.count(session.parameters.count, "value")),
            ("version", SheafVersion.current),
        ]
        for (name, value) in lines {
            session.output.write(
                name + String(repeating: " ", count: 9 - name.count) + TerminalText.visible(value))
        }
    }

    private static func read(_ path: String, _ session: ShellSession) throws(ToolError) {
        guard session.readDepth < maximumReadDepth else {
            throw .failed(
                ".read is nested more than \(maximumReadDepth) times: \(path.shortened)")
        }
        session.readDepth += 1
        defer { session.readDepth -= 1 }
        try ShellScript.run(file: path, session)
    }
}
