import SheafTestSupport
import Testing

/// Imports that were interrupted and continue.
extension ImportCommandTests {
    @Test func `an import stops at its limit of bad rows, and continues from there`() throws {
        let path = try file(
            "a.jsonl", "{\"n\":1}\nx\n{\"n\":2}\ny\n{\"n\":3}\nz\n{\"n\":4}\n")
        let strict = try run(path, "--strict")
        #expect(strict.status == 1)
        #expect(
            strict.errors.contains("stopped after line 2, because of 1 bad row; --resume continues")
        )
        #expect(try rows().count == 1)
        let again = try run(path)
        #expect(again.status == 1 && again.errors.contains("interrupted after line 2; --resume"))
        let more = try run(path, "--resume", "--max-errors=1")
        #expect(more.errors.contains("stopped after line 6"))
        let last = try run(path, "--resume")
        #expect(last.lines.contains("3 documents had been imported before"))
        #expect(last.lines.contains("3 bad rows not imported") && last.status == 1)
        #expect(try rows().count == 4)
        let done = try run(path, "--resume")
        #expect(done.status == 1 && done.errors.contains("it may be complete"))
        #expect(try rows().count == 4)
        #expect(try ToolRun(["verify", store]).status == 0)
    }

    @Test func `another file, another collection or other options do not resume`() throws {
        let path = try file("a.csv", "n\n1\n2,3\n4\n")
        #expect(try run(path, "--strict").status == 1)
        let before = try rows()
        for words in [["--null=x"], ["--types=n=text"], ["--separator=;"]] {
            let other = try ToolRun(["import", store, "cars", path, "--resume"] + words)
            #expect(other.status == 1, "\(words)")
            #expect(other.errors.contains("was interrupted, but a.csv after line 3"), "\(words)")
        }
        let longer = try file("a.csv", "n\n1\n2,3\n4\n5\n")
        #expect(try run(longer, "--resume").errors.contains("of the same length and first bytes"))
        #expect(try rows() == before)
        let restored = try file("a.csv", "n\n1\n2,3\n4\n")
        let vans = try ToolRun(["import", store, "vans", restored, "--resume"])
        #expect(vans.lines.last?.hasPrefix("imported 2 documents into vans") == true)
        #expect(try run(restored, "--resume", "--strict").status == 1)
        #expect(try rows().count == 2)
    }

    @Test func `standard input continues when it is read again from its beginning`() throws {
        let path = try file("a.jsonl", "{\"n\":1}\nx\n{\"n\":2}\n{\"n\":3}\n")
        func piped(_ words: String) throws -> ToolRun {
            try ToolRun(script: "cat '\(path)' | \"$0\" import '\(store)' cars - \(words)")
        }
        func redirected(_ words: String) throws -> ToolRun {
            try ToolRun(script: "\"$0\" import '\(store)' cars - \(words) < '\(path)'")
        }
        #expect(try piped("--strict").errors.contains("sheaf: standard input, line 2: column 1"))
        #expect(try rows().count == 1)
        #expect(
            try piped("").errors.contains("an import of standard input into cars was interrupted"))
        let last = try redirected("--resume")
        #expect(last.lines.last?.hasPrefix("imported 2 documents into cars in") == true)
        #expect(try rows().count == 3)
        let shorter = try ToolRun(
            script: "printf '{}' | \"$0\" import '\(store)' cars - --resume")
        #expect(shorter.status == 1)
    }

    @Test func `rows added to standard input do not change the types of columns`() throws {
        let head = "_id,v\n" + (0..<300).map { "\($0),\(1_000_000 + $0)\n" }.joined() + "1,2,3\n"
        func piped(_ text: String, _ words: String) throws -> ToolRun {
            let path = try file("input", head + text)
            return try ToolRun(
                script: "cat '\(path)' | \"$0\" import '\(store)' cars - --format csv \(words)")
        }
        #expect(try piped("", "--strict").status == 1)
        let texts = try piped("500,7\n501,abc\n", "--resume")
        #expect(texts.status == 1 && texts.errors.contains("and types of columns"))
        #expect(try rows().count == 300)
        let integers = try piped("500,7\n501,8\n", "--resume")
        #expect(integers.lines.last?.hasPrefix("imported 2 ") == true)
    }

    @Test(arguments: ["jsonl", "csv"])
    func `standard input that differs before the position is refused and loses no row`(
        _ format: String
    ) throws {
        let header = format == "csv" ? "n\n" : ""
        let good = format == "csv" ? "1000" : "{\"n\":1000}"
        let bad = format == "csv" ? "1,1" : "x"
        // The first rows are those of both inputs.
        let head = header + String(repeating: good + "\n", count: 1_000)
        let rest = "\(bad)\n" + String(repeating: good + "\n", count: 3)
        func imported(_ text: String, _ words: String) throws -> ToolRun {
            let path = try file("input", text)
            return try ToolRun(
                script: "cat '\(path)' | \"$0\" import '\(store)' cars - "
                    + "--format \(format) \(words)")
        }
        #expect(try imported(head + good + "\n" + rest, "--strict").status == 1)
        #expect(try rows().count == 1_001)
        let shorter = good.replacing("1000", with: "10")
        let other = try imported(head + shorter + "\n" + rest, "--resume")
        #expect(other.status == 1)
        #expect(other.errors.contains("standard input has changed: its first"), "\(other.errors)")
        #expect(try rows().count == 1_001)
        let same = try imported(head + good + "\n" + rest, "--resume")
        #expect(same.lines.last?.hasPrefix("imported 3 documents") == true, "\(same.errors)")
        #expect(try rows().count == 1_004)
    }

    @Test(arguments: [false, true])
    func `standard input that ended within a line does not lose the rest of it`(
        _ isCRLF: Bool
    ) throws {
        // The first bytes identify the input.
        let head = String(repeating: "{\"n\":1000}\n", count: 1_000)
        func piped(_ text: String, _ words: String) throws -> ToolRun {
            let path = try file("input", head + text)
            return try ToolRun(script: "cat '\(path)' | \"$0\" import '\(store)' cars - \(words)")
        }
        #expect(try piped("x", "--strict").status == 1)
        let longer = try piped("xyz\n{\"n\":2}\n", "--resume")
        #expect(longer.status == 1)
        #expect(longer.errors.contains("goes on within its last line, of which"))
        #expect(try rows().count == 1_000)
        let lineBreak = isCRLF ? "\r\n" : "\n"
        let ended = try piped("x\(lineBreak){\"n\":2}\ny\n", "--resume")
        #expect(ended.errors.contains("standard input, line 1003: column 1"), "\(ended.errors)")
        #expect(try rows().count == 1_001)
    }

    @Test func `an import that ended with a last line without a line break continues`() throws {
        let path = try file("a.jsonl", "{\"n\":1}\nx")
        #expect(try run(path, "--strict").status == 1)
        let last = try run(path, "--resume")
        #expect(last.lines.contains("1 document had been imported before"), "\(last.errors)")
        #expect(try rows().count == 1)
    }
}
