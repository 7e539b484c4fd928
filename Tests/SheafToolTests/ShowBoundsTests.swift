import Foundation
import SheafDocument
import SheafEngine
import SheafStorage
import SheafTestSupport
import Testing

/// Tests of the lengths and numbers up to which commits are shown.
@Suite struct ShowBoundsTests {
    private let directory = TemporaryDirectory()
    private var path: String { directory.path("store") }

    private func engine() throws -> StoreEngine {
        var options = LogStoreOptions()
        options.clock = FakeClock().clock
        return try StoreEngine(
            opening: try PosixVolume(path: path, creatingDirectory: true), options: options)
    }

    /// Writes a commit for each of these numbers of documents.
    private func commit(_ counts: Int..., fields: Object = [:]) throws {
        let store = try engine()
        let documents = try DocumentEngine(store)
        for count in counts {
            let changes = (0..<count).map { number in
                DocumentChange("c\(count)", .integer(Int64(number)), .insert(fields))
            }
            _ = try documents.commit(changes) { batch throws(StorageError) in
                try store.append(batch)
            }
            try store.flush()
        }
        try store.close()
    }

    @Test func `a payload is shown up to 48 bytes`() throws {
        let store = try engine()
        var batch = WriteBatch()
        let text = Array(repeating: UInt8(ascii: "x"), count: 49)
        try batch.put(Array("key1".utf8), Array(text.dropLast()))
        try batch.put(Array("key2".utf8), text)
        try batch.put(Array("key3".utf8), [UInt8(ascii: "\\")])
        _ = try store.append(batch)
        var single = WriteBatch()
        try single.put(Array("key4".utf8), [])
        _ = try store.append(single)
        try store.close()
        let lines = try ToolRun(["show", path, "1"]).lines
        try #require(lines.count == 4)
        #expect(lines[0].hasPrefix("commit 1 at 2026-05-28T20:26:40.000Z, 3 operations, "))
        let shown = String(repeating: "x", count: 48)
        #expect(lines[1] == "put     key1  48 bytes  \(shown)")
        #expect(lines[2] == "put     key2  49 bytes  \(shown)...")
        #expect(lines[3] == #"put     key3  1 byte  \\"#)
        let second = try ToolRun(["show", path, "2"]).lines
        #expect(second.first?.contains(", 1 operation, ") == true, "\(second)")
        #expect(second.last == "put     key4  0 bytes  ")
    }

    @Test func `a key can have any escapes of two digits`() throws {
        let store = try engine()
        var batch = WriteBatch()
        try batch.put([0x5C, 0xFF, 0x41], Array("found".utf8))
        _ = try store.append(batch)
        try store.close()
        for key in [#"\\\xffA"#, #"\x5c\xFF\x41"#] {
            let run = try ToolRun(["show", path, "1", "--payload", key])
            #expect(run.status == 0 && run.text == "found", "\(run.errors)")
        }
        for key in [#"\"#, #"\x"#, #"\x4"#, #"\xg0"#, #"\x0g"#, #"\x+1"#, #"\a"#, #"A\"#] {
            let run = try ToolRun(["show", path, "1", "--payload", key])
            #expect(run.status == 64 && run.output.isEmpty)
            #expect(
                run.errors
                    == "sheaf: invalid KEY: a backslash must be followed by another one or by xNN\n",
                "\(key)")
        }
    }

    @Test func `a limit can be zero, and the newest commits are after it`() throws {
        try commit(1, 2, 3)
        for (words, commits) in [
            (["--limit=0"], []), (["--limit=1"], ["1"]), (["--limit=3"], ["1", "2", "3"]),
            (["--limit=4"], ["1", "2", "3"]), (["--reverse", "--limit=0"], []),
            (["--reverse", "--limit=2"], ["3", "2"]), (["--since=0"], ["1", "2", "3"]),
            (["--since=2"], ["3"]), (["--since=3"], []), (["--since=1", "--limit=1"], ["2"]),
        ] as [([String], [String])] {
            let run = try ToolRun(["log", path] + words)
            #expect(run.status == 0)
            #expect(run.lines.map { String($0.prefix { $0 != " " }) } == commits, "\(words)")
        }
        let run = try ToolRun(["log", path, "--follow", "--reverse"])
        #expect(run.status == 64)
        #expect(run.errors == "sheaf: --follow and --reverse are mutually exclusive\n")
    }

    @Test func `the log names the first three documents of a commit`() throws {
        try commit(1, 3, 4, 5)
        let lines = try ToolRun(["log", path]).lines
        try #require(lines.count == 4)
        #expect(lines[0].hasSuffix("  c1 0"))
        #expect(lines[1].hasSuffix("  c3 0, c3 1, c3 2"))
        #expect(lines[2].hasSuffix("  c4 0, c4 1, c4 2, 1 more"))
        #expect(lines[3].hasSuffix("  c5 0, c5 1, c5 2, 2 more"))
    }

    @Test(arguments: [(152, ""), (153, "...")])
    func `a document is shown up to 160 bytes`(_ length: Int, _ end: String) throws {
        try commit(1, fields: ["s": .string(String(repeating: "x", count: length))])
        let lines = try ToolRun(["show", path, "1"]).lines
        let text = "{\"s\":\"\(String(repeating: "x", count: length))\"}"
        #expect(lines.contains("    " + String(text.prefix(160)) + end), "\(lines)")
        #expect(lines.contains("    changed  /s"))
    }
}
