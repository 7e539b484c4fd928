import Foundation
import SheafStorage
import SheafTestSupport
import Testing

@Suite struct RepairCommandTests {
    @Test func `an intact store verifies`() throws {
        let store = try StoreOnDisk()
        let run = try ToolRun(["verify", store.path])
        #expect(run.status == 0 && run.errors.isEmpty)
        #expect(run.lines.count == 1)
        #expect(run.text.hasPrefix("ok: \(store.content.payloads.count) keys, last commit 18, "))
    }

    @Test func `the summary as JSON has the documented keys, and agrees with other commands`()
        throws
    {
        let store = try StoreOnDisk()
        let objects = try ToolRun(["verify", store.path, "--json"]).objects()
        let object = try #require(objects.first)
        let documented = [
            "type", "damaged", "findings", "store", "segments", "bases", "checkpoints",
            "usableCheckpoints", "bytes", "records", "commits", "operations", "lastCommit", "keys",
            "documents", "tombstones", "attachments",
        ]
        #expect(objects.count == 1 && object.keys.sorted() == documented.sorted())
        let help = try ToolRun(["verify", "--help"]).text
        for key in documented { #expect(help.contains(key), "\(key)") }
        func number(_ key: String) -> Int { object[key] as? Int ?? -1 }
        let names = try store.files().keys
        #expect(number("segments") == names.count { $0.hasSuffix(".log") })
        #expect(number("bases") == names.count { $0.hasSuffix(".base") })
        #expect(number("checkpoints") == names.count { $0.hasSuffix(".checkpoint") })
        #expect(number("usableCheckpoints") == number("checkpoints"))
        #expect(number("keys") == store.content.payloads.count)
        #expect(number("lastCommit") == Int(store.content.lastCommit))
        #expect(number("findings") == 0 && number("attachments") == 0)
        #expect(object["type"] as? String == "summary" && object["damaged"] as? Bool == false)
        let statistics = try #require(
            try ToolRun(["stats", store.path, "--json"]).objects().first)
        #expect(object["store"] as? String == statistics["store"] as? String)
        #expect(object["store"] is String)
        #expect(number("commits") > 0 && number("operations") > 0)
        #expect(number("records") >= number("commits"))
        let length = try store.files().values.reduce(0) { $0 + $1.count }
        #expect(number("bytes") > 0 && number("bytes") <= length)
    }

    @Test func `damage is reported with file and offset, and exit code 3`() throws {
        let store = try StoreOnDisk { $0["0000000004.log"]?[300] ^= 4 }
        let run = try ToolRun(["verify", store.path])
        #expect(run.status == 3)
        #expect(run.lines.first?.hasPrefix("0000000004.log:") == true)
        #expect(run.lines.last?.hasPrefix("damaged: ") == true)
        let objects = try ToolRun(["verify", store.path, "--json"]).objects()
        let first = try #require(objects.first)
        #expect(first["file"] as? String == "0000000004.log")
        #expect(first["severity"] as? String == "damage")
        #expect(objects.last?["damaged"] as? Bool == true)
        #expect(objects.last?["keys"] is NSNull)

        let log = try ToolRun(["log", store.path])
        #expect(log.status == 3)
        #expect(log.errors.contains("0000000004.log:"))
        #expect(log.lines.last?.hasPrefix("10 ") == true, "\(log.text)")
    }

    @Test func `an intact store is salvaged completely`() throws {
        let store = try StoreOnDisk()
        let target = store.directory.path("target")
        let run = try ToolRun(["salvage", store.path, target])
        #expect(run.status == 0, "\(run.text) \(run.errors)")
        #expect(run.text.hasSuffix("lost nothing\n"))
        let found = try SmallStore.payloads(
            in: try PosixVolume(path: target, creatingDirectory: false))
        #expect(found == store.content.payloads)
        #expect(try ToolRun(["verify", target]).status == 0)
    }

    @Test func `a damaged store is salvaged except for the damage`() throws {
        let store = try StoreOnDisk { $0["0000000005.log"]?[300] ^= 4 }
        let before = try store.files()
        let target = store.directory.path("target")
        let run = try ToolRun(["salvage", store.path, target, "--json"])
        #expect(run.status == 3)
        let objects = try run.objects()
        #expect(objects.first?["type"] as? String == "damage")
        #expect(objects.first?["file"] as? String == "0000000005.log")
        #expect(objects.last?["complete"] as? Bool == false)
        #expect(objects.last?["lostCommits"] as? Int == 1)
        #expect(try ToolRun(["verify", target]).status == 0)
        #expect(try store.files() == before)
    }

    @Test func `a store without log files is damaged, and salvage says what is needed`() throws {
        let store = try StoreOnDisk { files in
            for name in files.keys where name.hasSuffix(".log") || name.hasSuffix(".base") {
                files[name] = nil
            }
        }
        let target = store.directory.path("target")
        let run = try ToolRun(["salvage", store.path, target])
        #expect(run.status == 3, "\(run.errors)")
        #expect(run.errors.contains("all log files are missing"), "\(run.errors)")
        #expect(run.errors.contains("restore a backup"), "\(run.errors)")
        #expect(try ToolRun(["verify", store.path]).status == 3)
        #expect(!FileManager.default.fileExists(atPath: target))
    }

    @Test func `a salvage overwrites nothing`() throws {
        let store = try StoreOnDisk()
        let full = try ToolRun(["salvage", store.path, store.path])
        #expect(full.status == 64)
        let inside = try ToolRun(["salvage", store.path, store.path + "/new/deep"])
        #expect(inside.status == 64 && inside.errors.contains("is inside"))
        let other = try StoreOnDisk()
        let taken = try ToolRun(["salvage", store.path, other.path])
        #expect(taken.status == 1 && taken.errors.contains("has files in it"))
        #expect(try store.files().count == 7)
        let file = store.directory.path("file")
        #expect(FileManager.default.createFile(atPath: file, contents: Data([1])))
        for (target, message) in [
            (file, "\(file) is not a directory; name one that does not exist"),
            (file + "/below", "cannot open \(file)/below: Not a directory"),
        ] {
            let run = try ToolRun(["salvage", store.path, target])
            #expect(run.status == 1)
            #expect(run.errors == "sheaf: \(message)\n")
        }
    }

    @Test func `a salvage names a skipped file of another store`() throws {
        var (others, _) = try SmallStore.small(seed: 6)
        let store = try StoreOnDisk { files in
            files["0000000007.log"] = others.removeValue(forKey: "0000000006.log")
        }
        let first = store.directory.path("first")
        let run = try ToolRun(["salvage", store.path, first])
        #expect(run.status == 0, "\(run.text) \(run.errors)")
        #expect(run.lines.first?.hasPrefix("0000000007.log:0: skipped ") == true)
        #expect(
            run.text.hasSuffix(
                "lost nothing of this store; skipped 0000000007.log, of another store\n"))
        let found = try SmallStore.payloads(
            in: try PosixVolume(path: first, creatingDirectory: false))
        #expect(found == store.content.payloads)
        let second = store.directory.path("second")
        let last = try ToolRun(["salvage", store.path, second, "--json"]).objects().last
        #expect(last?["otherStoreFiles"] as? [String] == ["0000000007.log"])
        #expect(last?["complete"] as? Bool == true)
    }

    @Test func `an error about a file names its store`() throws {
        let store = try StoreOnDisk { $0["0000000004.log"]?[40] ^= 4 }
        for words in [["log"], ["show"], ["stats"], ["compact"]] {
            let run = try ToolRun(words + [store.path] + (words == ["show"] ? ["1"] : []))
            #expect(run.status == 3)
            #expect(
                run.errors.hasPrefix(
                    "sheaf: \(store.path): the store is damaged: 0000000004.log:"),
                "\(words): \(run.errors)")
        }
        let file = store.path + "/0000000004.log"
        try FileManager.default.removeItem(atPath: file)
        try FileManager.default.createDirectory(
            atPath: file, withIntermediateDirectories: false)
        let log = try ToolRun(["log", store.path])
        #expect(log.status == 1)
        #expect(
            log.errors
                == "sheaf: \(store.path): cannot open 0000000004.log: it is not a regular file\n")
        let verify = try ToolRun(["verify", store.path])
        #expect(verify.status == 3)
        #expect(verify.lines.first?.hasPrefix("0000000004.log:0: damage: ") == true)
    }

    @Test func `a compaction does what its dry run reports`() throws {
        let store = try StoreOnDisk()
        let before = try store.files()
        let plan = try ToolRun([
            "compact", store.path, "--dry-run", "--keep-commits", "4", "--json",
        ])
        #expect(plan.status == 0 && plan.errors.isEmpty)
        #expect(try store.files() == before)
        let planned = try plan.objects()
        #expect(planned.first?["type"] as? String == "plan")
        #expect(planned.last?["dryRun"] as? Bool == true)

        let run = try ToolRun(["compact", store.path, "--keep-commits", "4", "--json"])
        #expect(run.status == 0 && run.errors.isEmpty)
        #expect(try run.objects().first as NSDictionary? == planned.first as NSDictionary?)
        let log = try #require(try run.objects().last)
        let (bytesBefore, bytesAfter) = (
            log["logBytesBefore"] as? Int, log["logBytesAfter"] as? Int
        )
        #expect(try #require(bytesAfter) < #require(bytesBefore))
        let after = try store.files()
        let compacted = try #require(planned.first?["files"] as? [String])
        for name in compacted { #expect(after[name] == nil) }
        #expect(try ToolRun(["verify", store.path]).status == 0)
        let found = try SmallStore.payloads(
            in: try PosixVolume(path: store.path, creatingDirectory: false))
        #expect(found == store.content.payloads)
    }

    @Test func `a dry run with the default history succeeds and prints its result`() throws {
        let store = try StoreOnDisk()
        let run = try ToolRun(["compact", store.path, "--dry-run"])
        #expect(run.status == 0)
        #expect(!run.text.isEmpty)
    }
}
