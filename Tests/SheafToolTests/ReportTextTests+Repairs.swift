import Foundation
import SheafStorage
import SheafTestSupport
import Testing

/// Tests of the reports on damaged and compacted stores, compared with their JSON.
extension ReportTextTests {
    private typealias Files = [String: [UInt8]]

    /// Ways to damage the files of a store, with names for messages.
    private var damages: [(name: String, change: (inout Files) -> Void)] {
        func flip(_ suffix: String, _ offset: Int) -> (inout Files) -> Void {
            return { files in
                for (name, bytes) in files where name.hasSuffix(suffix) && offset < bytes.count {
                    files[name]?[offset] ^= 4
                }
            }
        }
        func remove(_ suffixes: String...) -> (inout Files) -> Void {
            return { files in
                for suffix in suffixes { files = files.filter { !$0.key.hasSuffix(suffix) } }
            }
        }
        return [
            ("none", remove()), ("a segment", remove("04.log")),
            ("two segments", remove("04.log", "05.log")), ("the base", remove(".base")),
            ("the checkpoint", remove(".checkpoint")),
            ("the base and the checkpoint", remove(".base", ".checkpoint")),
            ("a byte of 4", flip("04.log", 300)), ("a byte of 5", flip("05.log", 300)),
            ("a byte of the base", flip(".base", 300)), ("a byte of each log", flip(".log", 420)),
            ("a byte of the checkpoint", flip(".checkpoint", 100)),
        ]
    }

    /// Returns the text of a line of the JSON of a salvage.
    private func salvageText(_ object: [String: Any], afterMissing isMissing: Bool) -> String {
        func number(_ key: String) -> Int { object[key] as? Int ?? 0 }
        switch object["type"] as? String {
        case "damage":
            let (file, reason) = (object["file"] as? String, object["reason"] as? String)
            return "\(file ?? ""):\(number("offset")): skipped \(plural(number("bytes"), "byte")): "
                + (reason ?? "")
        case "missing":
            let (first, last) = (number("first"), number("last"))
            return first == last
                ? "segment \(first) is missing" : "segments \(first) to \(last) are missing"
        default:
            let counts = [
                (number("lostCommits"), "", "commit"),
                (number("incompleteCommits"), "parts of ", "commit"),
                (number("lostDeltas"), "the base of ", "delta record"),
                (number("lostKeys"), "", "key"),
                (number("outdatedKeys"), "the newest payload of ", "key"),
            ]
            var losses = counts.map { $0.0 == 0 ? "" : $0.1 + plural($0.0, $0.2) }
            let isCompacted = object["lostCompactedOperations"] as? Bool == true
            losses.insert(isCompacted ? "compacted operations" : "", at: 2)
            losses.insert(isMissing ? "segments" : "", at: 0)
            let named = losses.filter { !$0.isEmpty }
            let isComplete = object["complete"] as? Bool == true
            return named.isEmpty == isComplete
                ? "kept \(plural(number("keys"), "key")), \(bytes(number("payloadBytes"))); lost "
                    + (named.isEmpty ? "nothing" : named.joined(separator: ", "))
                : "the losses do not agree with \(isComplete)"
        }
    }

    @Test func `the report of a salvage has the numbers of its JSON`() throws {
        for (name, change) in damages {
            let store = try StoreOnDisk(change)
            let target = store.directory.path("target")
            let json = try ToolRun(["salvage", store.path, target, "--json"])
            let objects = try json.objects()
            let summary = try #require(objects.last)
            let isMissing = objects.contains { $0["type"] as? String == "missing" }
            let text = try ToolRun(["salvage", store.path, target + "2"])
            let expected = objects.map { salvageText($0, afterMissing: isMissing) }
            #expect(text.lines == expected, "\(name)")
            let status: Int32 = summary["complete"] as? Bool == true ? 0 : 3
            #expect(json.status == status && text.status == status, "\(name)")
            #expect(json.errors == text.errors, "\(name)")
            let keys: Set = [
                "type", "complete", "store", "keys", "payloadBytes", "records", "lostCommits",
                "incompleteCommits", "lostCompactedOperations", "lostDeltas", "otherStoreFiles",
                "witness", "lostKeys", "outdatedKeys",
            ]
            #expect(Set(summary.keys) == keys, "\(name)")
            // Only a checkpoint shows which keys are lost.
            let hasWitness = summary["witness"] is String
            #expect((summary["lostKeys"] is NSNull) != hasWitness, "\(name)")
            #expect((summary["outdatedKeys"] is NSNull) != hasWitness, "\(name)")
            let found = try SmallStore.payloads(
                in: try PosixVolume(path: target, creatingDirectory: false))
            #expect(summary["keys"] as? Int == found.count, "\(name)")
            let length = found.values.reduce(0) { $0 + $1.utf8.count }
            #expect(summary["payloadBytes"] as? Int == length, "\(name)")
        }
    }

    @Test func `missing segments are one line for each row of them`() throws {
        for (names, line) in [
            (["0000000004.log"], "segment 4 is missing"),
            (["0000000004.log", "0000000005.log"], "segments 4 to 5 are missing"),
        ] {
            let store = try StoreOnDisk { files in for name in names { files[name] = nil } }
            let run = try ToolRun(["salvage", store.path, store.directory.path("target")])
            #expect(run.status == 3 && run.lines.contains(line), "\(run.text)")
            #expect(run.lines.last?.contains("; lost segments, ") == true, "\(run.text)")
        }
    }

    @Test func `the result of a failed verification has the numbers of its JSON`() throws {
        for (name, change) in damages {
            let store = try StoreOnDisk(change)
            let json = try ToolRun(["verify", store.path, "--json"])
            let text = try ToolRun(["verify", store.path])
            let all = try json.objects()
            let (objects, summary) = (all.dropLast(), try #require(all.last))
            func number(_ key: String) -> Int { summary[key] as? Int ?? -1 }
            #expect(number("findings") == objects.count, "\(name)")
            var expected = objects.map { finding in
                let texts = ["file", "offset", "severity", "reason"].map { key in
                    (finding[key] as? Int).map { "\($0)" } ?? finding[key] as? String ?? ""
                }
                return "\(texts[0]):\(texts[1]): \(texts[2]): \(texts[3])"
            }
            let isDamaged = objects.contains { $0["severity"] as? String == "damage" }
            #expect(summary["damaged"] as? Bool == isDamaged, "\(name)")
            #expect(json.status == (isDamaged ? 3 : 0) && text.status == json.status, "\(name)")
            let keys = (summary["keys"] as? Int).map { plural($0, "key") + ", " } ?? ""
            expected.append(
                (isDamaged ? "damaged: " : "ok: ") + keys
                    + "last commit \(number("lastCommit")), "
                    + "\(plural(number("segments"), "segment")), "
                    + "\(plural(number("bases"), "base file")), "
                    + "\(plural(number("checkpoints"), "checkpoint")), "
                    + "\(plural(number("records"), "record")), \(bytes(number("bytes")))")
            #expect(text.lines == expected, "\(name)")
            // The log is not one of documents.
            #expect(summary["documents"] is NSNull && summary["tombstones"] is NSNull, "\(name)")
        }
    }

    @Test func `the result of a compaction has the lengths of the files before and after`() throws {
        let store = try StoreOnDisk()
        try store.copy(to: "copy")
        func lengths(_ path: String) throws -> (log: Int, checkpoints: Int) {
            let files = try SimulatedVolume(importing: path).snapshotFiles()
            func sum(_ suffixes: String...) -> Int {
                files.filter { file in suffixes.contains { file.key.hasSuffix($0) } }
                    .reduce(0) { $0 + $1.value.count }
            }
            return (sum(".log", ".base"), sum(".checkpoint"))
        }
        let copy = store.directory.path("copy")
        let before = try lengths(copy)
        let text = try ToolRun(["compact", copy, "--keep-commits=2"])
        var after = try lengths(copy)
        #expect(text.status == 0 && before.log > after.log, "\(text.errors)")
        #expect(
            text.lines.last == "log \(bytes(before.log)) before, \(bytes(after.log)) after; "
                + "checkpoints \(bytes(before.checkpoints)) before, "
                + "\(bytes(after.checkpoints)) after")
        let options = ["--keep-commits=2", "--json"]
        let dry = try ToolRun(["compact", store.path, "--dry-run"] + options).objects()
        let run = try ToolRun(["compact", store.path] + options).objects()
        after = try lengths(store.path)
        let (planned, result) = (try #require(dry.last), try #require(run.last))
        let sums = ["logBytesBefore": before.log, "checkpointBytesBefore": before.checkpoints]
        for (key, sum) in sums {
            #expect(planned[key] as? Int == sum && result[key] as? Int == sum, "\(key)")
        }
        #expect(result["logBytesAfter"] as? Int == after.log)
        #expect(result["checkpointBytesAfter"] as? Int == after.checkpoints)
        #expect(planned["logBytesAfter"] is NSNull && planned["checkpointBytesAfter"] is NSNull)
        #expect(planned["dryRun"] as? Bool == true && result["dryRun"] as? Bool == false)
    }
}
