import Foundation
import SheafStorage
import SheafTestSupport
import Testing

@Suite struct InspectionCommandTests {
    @Test func `the log has a line for each commit, in order`() throws {
        let store = try StoreOnDisk()
        let run = try ToolRun(["log", store.path])
        #expect(run.status == 0 && run.errors.isEmpty)
        let identifiers = run.lines.compactMap { UInt64($0.prefix { $0 != " " }) }
        #expect(identifiers == identifiers.sorted())
        #expect(identifiers.last == store.content.lastCommit)
        #expect(run.lines.last?.contains("2026-05-28T20:26:40.000Z") == true)
        #expect(run.lines.first?.contains("compacted") == true)
    }

    @Test func `the log can be restricted, reversed and abbreviated`() throws {
        let store = try StoreOnDisk()
        let all = try ToolRun(["log", store.path]).lines
        #expect(try ToolRun(["log", store.path, "--since", "13"]).lines == Array(all.suffix(5)))
        #expect(try ToolRun(["log", store.path, "--limit=2"]).lines == Array(all.prefix(2)))
        #expect(try ToolRun(["log", store.path, "--reverse"]).lines == Array(all.reversed()))
        #expect(
            try ToolRun(["log", store.path, "--reverse", "--limit", "3"]).lines
                == Array(all.suffix(3).reversed()))
        let short = try ToolRun(["log", store.path, "--oneline", "--since=17"])
        #expect(short.lines == ["18  2 ops  144 bytes"])
    }

    @Test func `the log as JSON has exactly the documented keys`() throws {
        let store = try StoreOnDisk()
        let objects = try ToolRun(["log", "--json", store.path]).objects()
        let keys: Set = [
            "commit", "time", "timeMilliseconds", "operations", "bytes", "position", "compacted",
        ]
        #expect(objects.allSatisfy { Set($0.keys) == keys })
        let last = try #require(objects.last)
        #expect(last["commit"] as? Int == 18)
        #expect(last["time"] as? String == "2026-05-28T20:26:40.000Z")
        #expect(last["timeMilliseconds"] as? Int == 1_780_000_000_000)
        #expect(last["compacted"] as? Bool == false)
        let first = try #require(objects.first)
        #expect(first["compacted"] as? Bool == true && first["time"] is NSNull)
    }

    @Test func `a commit is shown with its operations, keys and payloads`() throws {
        let store = try StoreOnDisk()
        let run = try ToolRun(["show", store.path, "18"])
        #expect(run.status == 0)
        #expect(run.lines.count == 3)
        #expect(run.lines[0].hasPrefix("commit 18 at 2026-"))
        #expect(run.lines[1].hasPrefix("put     key4  32 bytes, after "))
        #expect(run.lines[1].hasSuffix("payload 18 xxxxxxxxxxxxxxxxxxxxx"))
        #expect(run.lines[2].hasPrefix("remove  key6"))

        let objects = try ToolRun(["show", store.path, "18", "--json"]).objects()
        #expect(objects.map { $0["operation"] as? String } == ["put", "remove"])
        #expect(objects.map { $0["key"] as? String } == ["key4", "key6"])
        #expect(objects.map { $0["keyHex"] as? String } == ["6b657934", "6b657936"])
        #expect(objects.map { $0["payloadBytes"] as? Int } == [32, 0])

        let payload = try ToolRun(["show", store.path, "18", "--payload", "key4"])
        #expect(payload.text == "payload 18 " + String(repeating: "x", count: 21))
    }

    @Test func `a delta record is shown as a delta operation`() throws {
        let store = try StoreOnDisk()
        let run = try ToolRun(["show", store.path, "16"])
        #expect(run.lines.last?.hasPrefix("delta   key6  3 bytes, after ") == true)
        let objects = try ToolRun(["show", store.path, "16", "--json"]).objects()
        #expect(objects.map { $0["operation"] as? String } == ["put", "put", "delta"])
        let payload = try ToolRun(["show", store.path, "16", "--payload", "key6"])
        #expect(payload.text == "+16")
    }

    @Test func `an operation has the position of the previous one on its key, or null`() throws {
        let directory = TemporaryDirectory()
        let engine = try StoreEngine(
            opening: try PosixVolume(path: directory.path("s"), creatingDirectory: true))
        for keys in [["key4"], ["key4", "key6"]] {
            var batch = WriteBatch()
            for key in keys { try batch.put(Array(key.utf8), [1, 2, 3]) }
            _ = try engine.append(batch)
        }
        try engine.close()
        func objects(_ commit: String) throws -> [[String: Any]] {
            try ToolRun(["show", directory.path("s"), commit, "--json"]).objects()
        }
        let (first, second) = (try objects("1"), try objects("2"))
        try #require(first.count == 1 && second.count == 2)
        #expect(first[0]["previous"] is NSNull && second[1]["previous"] is NSNull)
        let position = try #require(first[0]["position"] as? String)
        #expect(second[0]["previous"] as? String == position)
        let lines = try ToolRun(["show", directory.path("s"), "2"]).lines
        #expect(lines.count == 3 && lines[1].contains("key4  3 bytes, after \(position)  "))
        #expect(lines.last?.contains("after") == false)
    }

    @Test func `missing commits and keys are explained`() throws {
        let store = try StoreOnDisk()
        let cases: [(words: [String], status: Int32, complaint: String)] = [
            (["99"], 1, "no commit 99"),
            (["0"], 1, "no commit 0"),
            (["1"], 1, "commit 1 was compacted completely: the history up to commit"),
            (["18", "--payload", "key6"], 1, "commit 18 removes the key 'key6'"),
            (["18", "--payload", "key5"], 1, "commit 18 has no operation on the key 'key5'"),
            (["18", "--payload", "\\q"], 64, "a backslash must be followed by"),
        ]
        for (words, status, message) in cases {
            let run = try ToolRun(["show", store.path] + words)
            #expect(run.status == status && run.output.isEmpty)
            #expect(run.errors.contains(message), "\(words): \(run.errors)")
        }
    }

    @Test func `keys are printed readably, whatever their bytes`() throws {
        let directory = TemporaryDirectory()
        let engine = try StoreEngine(
            opening: try PosixVolume(path: directory.path("s"), creatingDirectory: true))
        var batch = WriteBatch()
        try batch.put(Array("schön\\\n\u{202E}".utf8) + [0xFF, 0], [0, 1, 2, 10, 255])
        _ = try engine.append(batch)
        try engine.close()
        let shown = #"schön\\\x0a\xe2\x80\xae\xff\x00"#
        let run = try ToolRun(["show", directory.path("s"), "1"])
        #expect(run.lines.last?.contains("put     \(shown)  5 bytes") == true)
        let object = try #require(
            try ToolRun(["show", directory.path("s"), "1", "--json"]).objects().first)
        #expect(object["key"] as? String == shown)
        let payload = try ToolRun(["show", directory.path("s"), "1", "--payload", shown])
        #expect(Array(payload.output) == [0, 1, 2, 10, 255])
    }

    @Test func `the statistics count files, keys and bytes`() throws {
        let store = try StoreOnDisk()
        let run = try ToolRun(["stats", store.path])
        #expect(run.status == 0 && run.errors.isEmpty)
        #expect(run.text.contains("last commit   18 at 2026-"))
        let objects = try ToolRun(["stats", store.path, "--json"]).objects()
        let object = try #require(objects.first)
        let files = try store.files()
        #expect(objects.count == 1)
        #expect(object["keys"] as? Int == store.content.payloads.count)
        #expect(object["bases"] as? Int == 1)
        #expect(
            object["baseBytes"] as? Int
                == files.filter { $0.key.hasSuffix(".base") }.reduce(0) { $0 + $1.value.count })
        #expect(object["tornTail"] is NSNull)
        #expect((object["checkpoints"] as? [String])?.count == 1)
        #expect(object["usedCheckpoint"] as? String == "00000000000000000012.checkpoint")
    }

    @Test func `the statistics as JSON have exactly the documented keys`() throws {
        let store = try StoreOnDisk()
        let object = try #require(
            try ToolRun(["stats", store.path, "--json"]).objects().first)
        let help = try ToolRun(["stats", "--help"]).text
        let documented = [
            "store", "segments", "segmentBytes", "bases", "baseBytes", "checkpoints",
            "checkpointBytes", "usedCheckpoint", "unusableCheckpoints", "otherFiles", "otherBytes",
            "keys", "removedKeys", "indexes", "indexEntries", "liveBytes", "liveShare",
            "lastCommit", "lastCommitTime", "lastCommitTimeMilliseconds", "firstCompleteCommit",
            "firstCompleteCommitTime", "firstCompleteCommitTimeMilliseconds", "compactedThrough",
            "replayedBytes", "tornTail", "compactableFiles", "compactableBytes",
            "compactableGarbage",
        ]
        #expect(object.keys.sorted() == documented.sorted())
        for key in documented { #expect(help.contains(key), "\(key)") }
    }

    @Test func `the statistics as JSON agree with the files and each other`() throws {
        let store = try StoreOnDisk()
        let object = try #require(
            try ToolRun(["stats", store.path, "--json"]).objects().first)
        func number(_ key: String) -> Int { object[key] as? Int ?? -1 }
        let files = try store.files()
        let logBytes = number("segmentBytes") + number("baseBytes")
        #expect(
            logBytes + number("checkpointBytes") + number("otherBytes")
                == files.values.reduce(0) { $0 + $1.count })
        #expect(number("segments") == files.keys.count { $0.hasSuffix(".log") })
        let checkpoints = files.filter { $0.key.hasSuffix(".checkpoint") }
        #expect(number("checkpointBytes") == checkpoints.values.reduce(0) { $0 + $1.count })
        #expect(number("indexEntries") == 0)
        #expect(number("liveBytes") > 0 && number("liveBytes") < logBytes)
        let share = try #require(object["liveShare"] as? Double)
        #expect(abs(share - Double(number("liveBytes")) / Double(logBytes)) < 1e-9)
        #expect(number("lastCommit") == Int(store.content.lastCommit))
        // The store keeps six commits, and was compacted after the twelfth.
        #expect(number("firstCompleteCommit") == 7 && number("compactedThrough") == 6)
        for name in ["lastCommitTime", "firstCompleteCommitTime"] {
            #expect(object[name] as? String == "2026-05-28T20:26:40.000Z")
            #expect(number(name + "Milliseconds") == 1_780_000_000_000)
        }
        #expect(number("compactableGarbage") <= number("compactableBytes"))
        #expect(number("compactableBytes") <= logBytes)
    }

    /// Returns the first and the last day of each month of these years, as days since 1970.
    private func monthEnds(of years: Set<Int>) -> [(day: Int, text: String)] {
        var found: [(day: Int, text: String)] = []
        var day = 0
        for year in 1970...2_400 {
            let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
            let lengths = [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
            for (month, length) in lengths.enumerated() {
                if years.contains(year) {
                    let text = "\(year)-" + (month < 9 ? "0" : "") + "\(month + 1)-"
                    found.append((day, text + "01"))
                    found.append((day + length - 1, text + "\(length)"))
                }
                day += length
            }
        }
        return found
    }

    @Test func `times have all digits of their date and time in UTC, up to the year 9999`() throws {
        let times: [(milliseconds: Int, text: String)] = [
            (0, "00:00:00.000"), (14_706_007, "04:05:06.007"), (86_399_999, "23:59:59.999"),
            (35_999_099, "09:59:59.099"), (36_000_000, "10:00:00.000"), (599_010, "00:09:59.010"),
        ]
        let days = monthEnds(of: [1970, 1972, 1999, 2000, 2001, 2096, 2100, 2399, 2400])
        var expected: [(milliseconds: Int, text: String)] = []
        for (number, end) in days.enumerated() {
            let time = times[number % times.count]
            expected.append(
                (end.day * 86_400_000 + time.milliseconds, "\(end.text)T\(time.text)Z"))
        }
        for milliseconds in [253_402_300_799_999, 253_402_300_800_000] {
            expected.append((milliseconds, "9999-12-31T23:59:59.999Z"))
        }
        let directory = TemporaryDirectory()
        let clock = FakeClock()
        var options = LogStoreOptions()
        options.clock = clock.clock
        let engine = try StoreEngine(
            opening: try PosixVolume(path: directory.path("s"), creatingDirectory: true),
            options: options)
        for (milliseconds, _) in expected {
            clock.setWall(milliseconds: UInt64(milliseconds))
            var batch = WriteBatch()
            try batch.put(Array("key".utf8), Array("payload".utf8))
            _ = try engine.append(batch)
        }
        try engine.close()
        let objects = try ToolRun(["log", directory.path("s"), "--json"]).objects()
        #expect(objects.map { $0["time"] as? String } == expected.map { $0.text })
        #expect(
            objects.map { $0["timeMilliseconds"] as? Int } == expected.map { $0.milliseconds })
    }

    @Test func `a torn tail is reported, and is not damage`() throws {
        let store = try StoreOnDisk { files in
            let last = files.keys.filter { $0.hasSuffix(".log") }.max() ?? ""
            // The footer and part of the last record did not reach the disk.
            files[last]?.removeLast(80 + 20)
            // The process did not close the store either.
            for name in files.keys where name.hasSuffix(".closed") { files[name] = nil }
        }
        let log = try ToolRun(["log", store.path])
        #expect(log.status == 0)
        #expect(log.errors.contains("torn tail") && log.errors.contains("0000000006.log:"))
        #expect(log.lines.last?.hasPrefix("17 ") == true)
        let verify = try ToolRun(["verify", store.path])
        #expect(verify.status == 0)
        #expect(verify.text.contains(": note: a torn tail"))
        #expect(verify.lines.last?.hasPrefix("ok: ") == true)
        let stats = try ToolRun(["stats", store.path])
        #expect(stats.status == 0 && stats.text.contains("torn tail     0000000006.log:"))
    }

    @Test func `inspecting a store changes nothing and creates no lock file`() throws {
        let store = try StoreOnDisk()
        let before = try store.files()
        #expect(chmod(store.path, 0o555) == 0)
        for words in [
            ["log", store.path], ["show", store.path, "18"], ["verify", store.path],
            ["stats", store.path], ["compact", store.path, "--dry-run", "--keep-commits=2"],
            ["salvage", store.path, store.directory.path("target")],
        ] {
            #expect(try ToolRun(words).status == 0, "\(words)")
        }
        #expect(try store.files() == before)
        #expect(chmod(store.path, 0o755) == 0)
    }

    @Test func `a store in use can be inspected, and is compacted by its own process`() throws {
        let store = try StoreOnDisk()
        let engine = try StoreEngine(
            opening: try PosixVolume(path: store.path, creatingDirectory: false))
        for words in [
            ["log", store.path], ["verify", store.path], ["stats", store.path],
            ["salvage", store.path, store.directory.path("target")],
        ] {
            let run = try ToolRun(words)
            #expect(run.status == 0 && !run.output.isEmpty, "\(words): \(run.errors)")
        }
        let run = try ToolRun(["compact", store.path])
        #expect(run.status == 1 && run.output.isEmpty)
        #expect(run.errors.contains("in use by process \(getpid());"), "\(run.errors)")
        try engine.close()
    }

    @Test func `a closed output pipe ends the tool quietly`() throws {
        let store = try StoreOnDisk()
        for command in ["log", "verify", "stats"] {
            let run = try ToolRun([command, store.path], closed: true)
            #expect(run.status == 0)
            #expect(run.errors.isEmpty)
        }
    }
}
