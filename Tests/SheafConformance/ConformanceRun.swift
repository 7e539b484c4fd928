import SheafDocument

/// A step whose result differs from the expected one.
package struct ConformanceFailure: Sendable, CustomStringConvertible {
    package let file: String
    package let line: Int
    package let title: String
    package let text: String
    package let hasIndexes: Bool
    package let expected: [String]
    package let found: [String]
    /// The lines of the file with the expected result.
    package let answerLines: Range<Int>?
    package let isInline: Bool

    package var description: String {
        func shown(_ lines: [String]) -> String {
            lines.isEmpty ? "    nothing\n" : lines.map { "    \($0)\n" }.joined()
        }
        return "\(file):\(line): \(title)\(hasIndexes ? " (with indexes)" : "")\n  \(text)\n"
            + "  expected\n\(shown(expected))  found\n\(shown(found))"
    }
}

/// Execution of conformance files.
package enum ConformanceRun {
    /// Returns the failed steps of a file, run without indexes and with them.
    package static func failures(of file: ConformanceFile) throws -> [ConformanceFailure] {
        var failures: [ConformanceFailure] = []
        for hasIndexes in [false, true] {
            var shared: (setting: Int, store: ConformanceStore)?
            for one in file.cases {
                let setting = file.settings[one.setting]
                if hasIndexes, !setting.hasIndexes { continue }
                let isReading = one.steps.allSatisfy { ConformanceStore.isReading($0.text) }
                let store: ConformanceStore
                if isReading, let shared, shared.setting == one.setting {
                    store = shared.store
                } else {
                    store = try made(setting, hasIndexes, for: one, in: file)
                    if isReading { shared = (one.setting, store) }
                }
                for step in one.steps {
                    let found = store.answer(step)
                    guard !matches(found, step) else { continue }
                    failures.append(
                        ConformanceFailure(
                            file: file.name, line: step.line, title: one.title, text: step.text,
                            hasIndexes: hasIndexes, expected: step.expected, found: found,
                            answerLines: step.answerLines, isInline: step.isInline))
                }
            }
        }
        return failures
    }

    private static func made(
        _ setting: ConformanceSetting, _ hasIndexes: Bool, for one: ConformanceCase,
        in file: ConformanceFile
    ) throws -> ConformanceStore {
        do { return try ConformanceStore(setting, hasIndexes: hasIndexes) } catch {
            throw ConformanceSyntaxError(
                file: file.name, line: one.steps[0].line,
                reason: "setting up the store failed: \(error)")
        }
    }

    private static func matches(_ found: [String], _ step: ConformanceStatement) -> Bool {
        if found == step.expected { return true }
        return !ConformanceStore.isOrdered(step.text) && found.sorted() == step.expected.sorted()
    }
}
