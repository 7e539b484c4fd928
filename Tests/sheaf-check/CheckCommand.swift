/// The entry point of the program: the choice of a verb, the help, and the exit codes.
enum CheckCommand {
    static let verbs: [Verb] = [
        .conform, .merges, .queries, .past, .isolation, .mesh, .simulate, .reference,
    ]

    /// Runs the verb that the first word names; returns the exit code.
    static func run(_ words: [String]) async -> Int32 {
        guard let name = words.first else {
            return printError("sheaf-check: missing verb" + expected)
        }
        if CheckOption.help.isNamed(name) {
            printLine(help)
            return CheckExitCode.passed
        }
        guard let verb = verbs.first(where: { $0.name == name }) else {
            let kind = name.hasPrefix("-") ? "option" : "verb"
            return printError("sheaf-check: unknown \(kind) '\(name)'" + expected)
        }
        do throws(UsageError) {
            let arguments = try CheckArguments(words.dropFirst(), of: verb)
            if arguments.has(CheckOption.help.name) {
                printLine(verb.help)
                return CheckExitCode.passed
            }
            return try await verb.run(arguments)
        } catch {
            return printError(
                "sheaf-check \(name): \(error)\n\(verb.usage)\nsee sheaf-check \(name) --help")
        }
    }

    private static var expected: String {
        "; the verbs are \(verbs.map(\.name).joined(separator: ", "))\nsee sheaf-check --help"
    }

    private static var help: String {
        """
        usage: sheaf-check VERB [OPTION ...]

        Long runs of the tests, repeatable from the seed that each run prints.

        verbs:
        \(HelpTable.text(verbs.map { ($0.name, $0.summary) }))

        'sheaf-check VERB --help' describes the options of a verb.

        exit codes:
        \(HelpTable.text([
            ("0", "nothing found"), ("1", "a violation or difference, which is printed"),
            ("2", "a file that cannot be read"), ("64", "invalid usage"),
        ]))
        """
    }

    private static func printError(_ message: String) -> Int32 {
        write(message + "\n", to: 2)
        return CheckExitCode.usage
    }
}

/// The exit codes of the program.
enum CheckExitCode {
    static let passed: Int32 = 0
    static let failed: Int32 = 1
    static let unreadable: Int32 = 2
    static let usage: Int32 = 64
}
