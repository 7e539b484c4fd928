import SheafConformance

extension Verb {
    static let conform = Verb(
        name: "conform", summary: "cases of the query language in Tests/Conformance",
        operands: .many("FILE"),
        options: [
            CheckOption(
                name: "--update", summary: "replace the expected results by the actual ones")
        ],
        details: "Without a FILE, runs all files.", run: { Conform.run($0) })
}

/// The run of conformance files, which prints the differences.
private enum Conform {
    static func run(_ arguments: CheckArguments) -> Int32 {
        do {
            var names = arguments.operands
            if names.isEmpty { names = try ConformanceFolder.names() }
            var failed = 0
            for name in names {
                var file = try ConformanceFolder.file(name.hasSuffix(".txt") ? name : name + ".txt")
                let failures = try ConformanceRun.failures(of: file)
                for failure in failures { printLine("\(failure)") }
                let steps = file.cases.reduce(0) { $0 + $1.steps.count }
                printLine(
                    "\(file.name): \(file.cases.count) cases, \(steps) statements, "
                        + "\(failures.count) differ")
                failed += failures.count
                if arguments.has("--update") { try update(&file, failures) }
            }
            return failed == 0 ? CheckExitCode.passed : CheckExitCode.failed
        } catch {
            printLine("\(error)")
            return CheckExitCode.unreadable
        }
    }

    /// Replaces expected results by actual ones, from the end so that line numbers stay valid.
    private static func update(
        _ file: inout ConformanceFile, _ failures: [ConformanceFailure]
    ) throws {
        for failure in failures.filter({ !$0.hasIndexes }).sorted(by: { $0.line > $1.line }) {
            guard let lines = failure.answerLines else { continue }
            if failure.isInline, let value = inlineValue(failure.found) {
                let line = file.lines[failure.line - 1]
                let start = line.split(separator: " => ").dropLast().joined(separator: " => ")
                file.replace(failure.line - 1..<failure.line, with: ["\(start) => \(value)"])
            } else {
                file.replace(lines, with: failure.found)
            }
        }
        let path = ConformanceFolder.path() + "/" + file.name
        if !replaceFile(at: path, with: file.lines.joined(separator: "\n")) {
            printLine("cannot write \(path)")
        }
    }

    private static func inlineValue(_ found: [String]) -> String? {
        guard found.count == 1 else { return nil }
        if found[0] == "= {}" { return "MISSING" }
        guard found[0].hasPrefix("= {\"v\":"), found[0].hasSuffix("}") else { return nil }
        return String(found[0].dropFirst(7).dropLast())
    }
}
