import Foundation
import Sheaf
import SheafDocument
import SheafEngine
import SheafQuery
import SheafStorage
import SheafSystem
import SheafTestSupport
import Testing

/// `sheaf clock`, on stores written with a clock that was ahead.
@Suite struct ClockCommandTests {
    private let directory = TemporaryDirectory()
    private static let day: UInt64 = 86_400_000

    /// Creates a store with one correct stamp and `late` documents stamped some days ahead.
    private func store(late: Int, days: UInt64) throws -> String {
        let path = directory.path("store")
        let now = Clock.system.wallMilliseconds()
        let clock = FakeClock(wallMilliseconds: now - 1_000)
        var options = LogStoreOptions()
        options.clock = clock.clock
        options.runsMaintenance = false
        let engine = try StoreEngine(
            opening: try PosixVolume(path: path, creatingDirectory: true), options: options)
        let documents = try DocumentEngine(engine)
        func insert(_ id: Int) throws {
            _ = try documents.commit([
                DocumentChange("cars", .integer(Int64(id)), .insert(["n": .integer(1)]))
            ]) { batch throws(StorageError) in try engine.append(batch) }
            while try engine.flush() {}
        }
        try insert(0)
        clock.setWall(milliseconds: now + days * Self.day)
        for id in 0..<late { try insert(id + 1) }
        try engine.close()
        return path
    }

    @Test func `stamps ahead of the clock are listed with their documents`() throws {
        let path = try store(late: 2, days: 1_400)
        let run = try ToolRun(["clock", path])
        #expect(run.status == 0 && run.errors.isEmpty)
        #expect(run.lines.count == 3)
        #expect(run.lines[0].hasPrefix("the clock of the store is "))
        #expect(run.lines[1].contains("cars  1") && run.lines[2].contains("cars  2"))
        let objects = try ToolRun(["clock", path, "--json"]).objects()
        #expect(objects.map { $0["type"] as? String } == ["clock", "document", "document"])
        #expect(objects[1]["id"] as? Int == 1)
        #expect(objects[1]["collection"] as? String == "cars")
        let site = try #require(objects[1]["site"] as? String)
        let stamps = try #require(objects[1]["stamps"] as? Int)
        #expect(stamps > 0 && run.lines[1].contains("  \(site)  \(stamps) stamp"))
        let ahead = try #require(objects[1]["aheadMilliseconds"] as? UInt64)
        #expect(ahead > 1_399 * Self.day && ahead <= 1_400 * Self.day)
    }

    @Test func `each line has the values of its JSON, and the clock is reset`() throws {
        let path = try store(late: 1, days: 1_400)
        let run = try ToolRun(["clock", path])
        let json = try ToolRun(["clock", path, "--json"])
        let document = try #require(try json.objects().last)
        let keys: Set = [
            "type", "collection", "id", "site", "time", "timeMilliseconds", "stamp",
            "aheadMilliseconds", "stamps",
        ]
        #expect(Set(document.keys) == keys)
        let site = try #require(document["site"] as? String)
        let count = try #require(document["stamps"] as? Int)
        let stamps = count == 1 ? "1 stamp" : "\(count) stamps"
        // Some milliseconds of the 1,400 days have passed: 3.8 years.
        #expect(
            run.lines == [
                "the clock of the store is 3 years ahead",
                "3 years ahead  \(site)  \(stamps)  cars  1",
            ])
        #expect(document["collection"] as? String == "cars")
        let time = try #require(document["timeMilliseconds"] as? UInt64)
        let ahead = try #require(document["aheadMilliseconds"] as? UInt64)
        let now = Clock.system.wallMilliseconds()
        #expect(time > now + 1_399 * Self.day && time - ahead <= now)
        // Parsed as a floating-point number, a stamp would lose digits.
        let match = try #require(json.text.firstMatch(of: /"stamp":(\d+),/))
        let stamp = try #require(UInt64(match.1))
        #expect(stamp >> 16 == time)
        let repair = try ToolRun(["clock", path, "--repair"])
        #expect(
            repair.text
                == "the clock of the store was 3 years ahead and was reset; 1 document was "
                + "rewritten\n")
    }

    private func rows(_ path: String) throws -> String {
        let statement = "SELECT * FROM cars ORDER BY _id"
        return try ToolRun(["query", path, statement, "--mode", "jsonl"]).text
    }

    @Test func `a repair removes stamps ahead of the clock and keeps the documents`() throws {
        let path = try store(late: 2, days: 1_400)
        let before = try rows(path)
        let repair = try ToolRun(["clock", path, "--repair", "--json"])
        #expect(repair.status == 0, "\(repair.errors)")
        #expect(try repair.objects().last?["documents"] as? Int == 2)
        let list = try ToolRun(["clock", path])
        #expect(
            list.lines == [
                "the clock of the store is not ahead", "no document has a stamp ahead of the clock",
            ])
        #expect(try ToolRun(["verify", path]).status == 0)
        let after = try rows(path)
        #expect(before == after && before.contains("1"))
        // A second repair finds nothing to do.
        #expect(try ToolRun(["clock", path, "--repair"]).text == "0 documents were rewritten\n")
    }

    @Test func `a repair does not change a store without stamps ahead of the clock`() throws {
        let path = try store(late: 0, days: 0)
        #expect(
            try ToolRun(["clock", path]).lines == [
                "the clock of the store is not ahead", "no document has a stamp ahead of the clock",
            ])
        let repair = try ToolRun(["clock", path, "--repair", "--json"])
        #expect(try repair.objects().last?["documents"] as? Int == 0)
        #expect(try repair.objects().last?["commit"] is NSNull)
    }

    @Test func `a repair of a store in use names the process that uses it`() throws {
        let path = try store(late: 1, days: 1_400)
        let log = try LogStore.open(at: path)
        defer { try? log.close() }
        let run = try ToolRun(["clock", path, "--repair"])
        #expect(run.status == 1)
        #expect(
            run.errors.contains(
                "is in use by process \(ProcessInfo.processInfo.processIdentifier)"),
            "\(run.errors)")
    }

    @Test func `a path without a store is refused`() throws {
        let missing = directory.path("missing")
        for options in [[], ["--repair"]] {
            let run = try ToolRun(["clock", missing] + options)
            #expect(run.status != 0)
            #expect(run.errors.contains(missing))
            #expect(!FileManager.default.fileExists(atPath: missing))
        }
    }
}
