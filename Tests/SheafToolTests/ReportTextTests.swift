import Foundation
import SheafDocument
import SheafEngine
import SheafStorage
import SheafTestSupport
import Testing

/// Tests of the texts of reports on a store, compared with their JSON and at their bounds.
@Suite struct ReportTextTests {
    /// A number of bytes with its unit, rounded to tenths.
    func bytes(_ count: Int) -> String {
        guard count >= 1_024 else { return count == 1 ? "1 byte" : "\(count) bytes" }
        let (unit, name) = count >= 1_048_576 ? (1_048_576, "MiB") : (1_024, "KiB")
        let tenths = (10 * count + unit / 2) / unit
        return "\(tenths / 10).\(tenths % 10) \(name)"
    }

    func plural(_ count: Int, _ noun: String) -> String {
        "\(count) \(noun)" + (count == 1 ? "" : "s")
    }

    func object(_ words: String...) throws -> [String: Any] {
        try #require(try ToolRun(words + ["--json"]).objects().last)
    }

    // MARK: Statistics

    private func statistics(_ object: [String: Any]) throws -> [String] {
        func number(_ key: String) -> Int { object[key] as? Int ?? -1 }
        func files(_ count: Int, _ key: String) -> String {
            count == 0 ? "none" : "\(count), \(bytes(number(key)))"
        }
        func commit(_ key: String) -> String {
            guard let commit = object[key] as? Int else { return "no commit" }
            return "\(commit)" + (object[key + "Time"] as? String).map { " at \($0)" }.orEmpty
        }
        let checkpoints = try #require(object["checkpoints"] as? [String])
        let used = (object["usedCheckpoint"] as? String).map { "after \($0)" }
        let log = number("segmentBytes") + number("baseBytes")
        let percent = (200 * number("liveBytes") + log) / (2 * log)
        let through = number("compactedThrough")
        var lines: [String] = []
        func row(_ name: String, _ value: String) {
            lines.append(name + String(repeating: " ", count: 14 - name.count) + value)
        }
        row("store", object["store"] as? String ?? "")
        row("keys", "\(number("keys")), \(number("removedKeys")) removed")
        row("index entries", "\(number("indexEntries")) in the newest checkpoint")
        row("last commit", commit("lastCommit"))
        row("complete from", commit("firstCompleteCommit"))
        row("history", through == 0 ? "complete" : "compacted up to commit \(through)")
        row("segments", files(number("segments"), "segmentBytes"))
        row("base files", files(number("bases"), "baseBytes"))
        row("checkpoints", files(checkpoints.count, "checkpointBytes"))
        row(
            "opening", "replays \(bytes(number("replayedBytes"))) \(used ?? "without a checkpoint")"
        )
        row("other files", files(number("otherFiles"), "otherBytes"))
        row("live", "\(bytes(number("liveBytes"))) of \(bytes(log)), \(percent)%")
        let (compactable, garbage) = (number("compactableBytes"), number("compactableGarbage"))
        row(
            "compactable",
            "\(plural(number("compactableFiles"), "file")), \(bytes(compactable)), of which "
                + "\(bytes(garbage)) garbage")
        row("torn tail", "none")
        return lines
    }

    @Test func `the statistics have the numbers of their JSON`() throws {
        let old = try StoreOnDisk()
        let new = try QueryCommandStore("cars", [("a", ["n": 1]), ("b", ["n": 2])])
        for path in [old.path, new.path] {
            let run = try ToolRun(["stats", path])
            #expect(run.status == 0 && run.errors.isEmpty)
            #expect(try run.lines == statistics(try object("stats", path)))
        }
    }

    // MARK: Verification and compaction

    @Test func `the result of a verification has the numbers of its JSON`() throws {
        let old = try StoreOnDisk()
        let new = try QueryCommandStore("cars", [("a", ["n": 1])])
        for path in [old.path, new.path] {
            let object = try object("verify", path)
            func number(_ key: String) -> Int { object[key] as? Int ?? -1 }
            let documents =
                (object["documents"] as? Int).map { plural($0, "document") + ", " }.orEmpty
            let files = [
                plural(number("segments"), "segment"), plural(number("bases"), "base file"),
                plural(number("checkpoints"), "checkpoint"), plural(number("records"), "record"),
                bytes(number("bytes")),
            ]
            let keys = "ok: \(plural(number("keys"), "key")), \(documents)last commit "
            let expected = keys + "\(number("lastCommit")), " + files.joined(separator: ", ") + "\n"
            #expect(try ToolRun(["verify", path]).text == expected)
        }
    }

    @Test func `the plan of a compaction has the numbers of its JSON`() throws {
        let store = try StoreOnDisk()
        for options in [["--keep-commits=4"], ["--keep-commits=1"], []] {
            let words = ["compact", store.path, "--dry-run"] + options
            let objects = try ToolRun(words + ["--json"]).objects()
            var gain = 0
            var expected = objects.dropLast().map { plan -> String in
                let files = plan["files"] as? [String] ?? []
                let (length, live) = (plan["bytes"] as? Int ?? -1, plan["liveBytes"] as? Int ?? -1)
                gain += length - live
                let names = files.count == 1 ? files[0] : "\(files[0]) to \(files[files.count - 1])"
                return "compact \(plural(files.count, "file")), \(names): \(bytes(length)), of "
                    + "which at least \(bytes(live)) are live"
            }
            let log = try #require(objects.last?["logBytesBefore"] as? Int)
            #expect(objects.last?["plans"] as? Int == expected.count)
            expected.append(
                expected.isEmpty
                    ? "nothing is older than the horizon"
                    : "log \(bytes(log)); compaction would free at most \(bytes(gain))")
            #expect(try ToolRun(words).lines == expected, "\(options)")
        }
    }

    @Test(arguments: [
        (0, "0 bytes"), (1, "1 byte"), (1_023, "1023 bytes"), (1_024, "1.0 KiB"),
        (1_075, "1.0 KiB"), (1_076, "1.1 KiB"), (1_280, "1.3 KiB"), (1_048_523, "1023.9 KiB"),
        (1_048_576, "1.0 MiB"), (1_572_864, "1.5 MiB"),
    ])
    func `numbers of bytes have a unit from 1,024 on, and tenths`(
        _ length: Int, _ text: String
    ) throws {
        let directory = TemporaryDirectory()
        let engine = try StoreEngine(
            opening: try PosixVolume(path: directory.path("s"), creatingDirectory: true))
        var batch = WriteBatch()
        try batch.put(Array("key".utf8), [UInt8](repeating: 7, count: length))
        _ = try engine.append(batch)
        try engine.close()
        let run = try ToolRun(["salvage", directory.path("s"), directory.path("t")])
        #expect(run.text == "kept 1 key, \(text); lost nothing\n", "\(run.errors)")
    }
}

extension Optional where Wrapped == String {
    /// The text, or an empty one.
    fileprivate var orEmpty: String { self ?? "" }
}
