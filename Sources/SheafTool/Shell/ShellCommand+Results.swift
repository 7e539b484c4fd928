import SheafBytes
import SheafDocument
import SheafQuery

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Commands about the results of statements.
extension ShellCommand {
    private static let switches = ["on", "off"]

    static let resultCommands = [
        ShellCommand(
            name: ".mode", arguments: "[MODE]", summary: "set or print the output mode",
            details: "The modes are \(ResultMode.names.joined(separator: ", ")).",
            completion: .words(ResultMode.names),
            run: { (words, session) throws(ToolError) in
                guard let name = try words.optional() else {
                    return session.output.write(session.mode.rawValue)
                }
                session.mode = try ResultMode(named: name)
            }),
        ShellCommand(
            name: ".timer", arguments: "on|off", summary: "print the time of each statement",
            completion: .words(switches),
            run: { (words, session) throws(ToolError) in
                guard let isOn = try words.isOn() else {
                    return session.output.write(session.isTiming ? "on" : "off")
                }
                session.isTiming = isOn
            }),
        ShellCommand(
            name: ".explain", arguments: "on|off|STATEMENT",
            summary: "print plans instead of running statements", completion: .statement,
            run: { (words, session) throws(ToolError) in try prefix(.explain, words, session) }),
        ShellCommand(
            name: ".profile", arguments: "on|off|STATEMENT",
            summary: "print the profile of each operator after the rows", completion: .statement,
            run: { (words, session) throws(ToolError) in try prefix(.profile, words, session) }),
        ShellCommand(
            name: ".output", arguments: "[FILE]",
            summary: "write results to a file; without FILE, to the terminal again",
            details: "The file is replaced. Messages still appear on the terminal.",
            completion: .file,
            run: { (words, session) throws(ToolError) in
                try session.redirect(to: try words.optional())
            }),
        ShellCommand(
            name: ".params", arguments: "[NAME [JSON]] | clear",
            summary: "print, set or remove values of parameters such as :color",
            details: """
                .params color "blue" sets :color, .params color removes it, .params clear removes
                all, and .params prints all.
                """,
            run: { (words, session) throws(ToolError) in try setParameter(words.text, session) }),
    ]

    private static func prefix(
        _ prefix: ShellSession.Prefix, _ words: ShellWords, _ session: ShellSession
    ) throws(ToolError) {
        switch words.text.lowercased() {
        case "": session.output.write(session.prefix == prefix ? "on" : "off")
        case "on": session.prefix = prefix
        case "off": if session.prefix == prefix { session.prefix = nil }
        default: try session.run(statement: words.text, prefix)
        }
    }

    private static func setParameter(
        _ text: String, _ session: ShellSession
    ) throws(ToolError) {
        guard !text.isEmpty else {
            let rows = session.parameters.sorted { $0.key < $1.key }.map { name, value in
                ["name": .string(name), "value": .string(value.json)] as Object
            }
            guard !rows.isEmpty else {
                return session.output.print(note: "no parameter has a value")
            }
            return try session.print(rows, columns: ["name", "value"])
        }
        let end = text.firstIndex { $0 == " " || $0 == "=" } ?? text.endIndex
        var name = String(text[..<end])
        if name.hasPrefix(":") { name.removeFirst() }
        let value = String(text[end...].drop { $0 == " " || $0 == "=" }).trimmingSpaces
        guard !value.isEmpty else {
            if name == "clear" { return session.parameters = [:] }
            guard session.parameters.removeValue(forKey: name) != nil else {
                throw .usage("the parameter '\(name.shortened)' has no value")
            }
            return
        }
        do throws(JSONError) {
            session.parameters[name] = try Value(json: value)
        } catch {
            throw .usage(
                "the value of '\(name.shortened)' is not valid JSON: \(error); strings have double "
                    + "quotes, as in .params color \"blue\"")
        }
    }
}

extension ShellSession {
    /// Writes results to a file, or to standard output again if there is no path.
    func redirect(to path: String?) throws(ToolError) {
        if let path, let store = store.path { try OutputFile.check(path, isOutside: store) }
        // Data of earlier statements must not follow the truncation of the same file.
        output.flush()
        // The file is opened first: if that fails, the output stays as it is.
        let file = try path.map { (path) throws(ToolError) in try Self.create(path) }
        defer { if let file { close(file) } }
        var failure: ToolError?
        do throws(ToolError) { try output.finish() } catch { failure = error }
        if let saved = standardOutput {
            dup2(saved, STDOUT_FILENO)
            close(saved)
            standardOutput = nil
        }
        if let file, failure == nil {
            let saved = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3)
            guard saved >= 0 else {
                throw .failed(
                    "cannot keep standard output open: \(String(cString: strerror(errno)))")
            }
            standardOutput = saved
            dup2(file, STDOUT_FILENO)
        }
        try replaceOutput(file: failure == nil ? path : nil)
        if let failure { throw failure }
    }

    /// Creates a file, or truncates it, and opens it.
    private static func create(_ path: String) throws(ToolError) -> Int32 {
        let file = creat(path, 0o666)
        guard file >= 0 else {
            throw .failed("cannot write \(path.shortened): \(String(cString: strerror(errno)))")
        }
        return file
    }

    /// Creates an output for the current standard output, which may lead to a file.
    private func replaceOutput(file: String?) throws(ToolError) {
        output = Output(file: file)
        try output.apply(arguments)
        if !arguments.has(Option.noPager.name) { output.usePager() }
        store.output = output
    }
}
