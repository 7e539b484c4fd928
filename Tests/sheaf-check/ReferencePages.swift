import SheafQueryModel
import SheafReference

extension Verb {
    static let reference = Verb(
        name: "reference", summary: "examples and pages of the language reference",
        options: [
            CheckOption(name: "--write", summary: "write the pages instead of running examples"),
            CheckOption(
                name: "--pages", value: .text("DIRECTORY"),
                summary: "the folder of the pages; Sources/Sheaf/Sheaf.docc/Language by default"),
        ],
        details: """
            Without --write, runs each example of the reference and prints those whose result
            differs. With it, writes a page for each family of entries.
            """,
        run: { await ReferencePages.run($0) })
}

/// The pages that are generated from the reference.
private enum ReferencePages {
    static func run(_ arguments: CheckArguments) async -> Int32 {
        guard arguments.has("--write") else { return await runExamples() }
        let folder = arguments.text("--pages") ?? "Sources/Sheaf/Sheaf.docc/Language"
        for page in Reference.pages {
            let path = "\(folder)/\(page.name).md"
            guard replaceFile(at: path, with: page.markdown) else {
                printLine("cannot write \(path)")
                return CheckExitCode.unreadable
            }
        }
        printLine("\(Reference.pages.count) pages, \(Reference.entries.count) entries")
        return CheckExitCode.passed
    }

    private static func runExamples() async -> Int32 {
        var differences = 0
        for entry in Reference.entries {
            for example in entry.examples {
                let result: [String]
                do {
                    result = try await ReferenceRun.result(of: example)
                } catch {
                    result = ["\(error)"]
                }
                guard let expected = example.result, expected != result else { continue }
                differences += 1
                printLine("\(entry.name)\t\(example.code.debugDescription)")
                for line in result { printLine("\t\(line)") }
            }
        }
        printLine("\(differences) differences in \(Reference.entries.count) entries")
        return differences == 0 ? CheckExitCode.passed : CheckExitCode.failed
    }
}
