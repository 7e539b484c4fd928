import SheafConformance

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// `sheaf-conform [FILE..] [--update]`: runs conformance files and prints the differences.
enum ConformCommand {
    static func run(_ arguments: [String]) -> Int32 {
        let isUpdating = arguments.contains("--update")
        var names = arguments.filter { !$0.hasPrefix("--") }
        do {
            if names.isEmpty { names = try ConformanceFolder.names() }
            var failed = 0
            for name in names {
                var file = try ConformanceFolder.file(name.hasSuffix(".txt") ? name : name + ".txt")
                let failures = try ConformanceRun.failures(of: file)
                for failure in failures { print(failure) }
                let steps = file.cases.reduce(0) { $0 + $1.steps.count }
                print(
                    "\(file.name): \(file.cases.count) cases, \(steps) statements, "
                        + "\(failures.count) differ")
                failed += failures.count
                if isUpdating { try update(&file, failures) }
            }
            return failed == 0 ? 0 : 1
        } catch {
            print(error)
            return 2
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
        guard let stream = fopen(path, "w") else { return print("cannot write \(path)") }
        fputs(file.lines.joined(separator: "\n"), stream)
        fclose(stream)
    }

    private static func inlineValue(_ found: [String]) -> String? {
        guard found.count == 1 else { return nil }
        if found[0] == "= {}" { return "MISSING" }
        guard found[0].hasPrefix("= {\"v\":"), found[0].hasSuffix("}") else { return nil }
        return String(found[0].dropFirst(7).dropLast())
    }
}
