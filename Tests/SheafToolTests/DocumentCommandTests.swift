import Foundation
import Sheaf
import SheafDocument
import SheafEngine
import SheafQuery
import SheafStorage
import SheafTestSupport
import Testing

/// Commands that show documents.
@Suite struct DocumentCommandTests {
    private let directory = TemporaryDirectory()
    private var path: String { directory.path("store") }

    /// Writes two cars, one edited and one deleted, and a person received from a peer and evicted.
    private func fill() throws {
        var options = LogStoreOptions()
        options.clock = FakeClock().clock
        options.random = { 0x0123_4567_89AB_CDEF }
        let store = try StoreEngine(
            opening: try PosixVolume(path: path, creatingDirectory: true), options: options)
        let engine = try DocumentEngine(store)
        func commit(_ changes: [DocumentChange], from: CommitOrigin? = nil) throws {
            _ = try engine.commit(changes, from: from) { batch throws(StorageError) in
                try store.append(batch)
            }
            try store.flush()
        }
        try commit([
            DocumentChange("cars", "a", .insert(["color": "red", "seats": ["front": 2]])),
            DocumentChange("cars", ["vin": 7], .insert(["color": "blue"])),
        ])
        try commit([
            DocumentChange(
                "cars", "a",
                .edit([
                    .set(path: ["color"], to: "green"), .unset(path: ["seats", "front"]),
                    .increment(path: ["drives"], by: .integer(3)),
                ]))
        ])
        try commit([DocumentChange("cars", ["vin": 7], .delete)])
        let person = try Insertion.document(
            ["name": "Ann"],
            at: Stamp(
                HybridTime(milliseconds: 1_779_999_999_000), Site(rawValue: 0xFEDC)), NameTable())
        try commit(
            [DocumentChange("people", 1, .join(person))],
            from: CommitOrigin(
                stamp: Stamp(HybridTime(milliseconds: 1_779_999_999_000), Site(rawValue: 0xFEDC)),
                peer: Site(rawValue: 0xFEDC), commit: 9))
        try commit([DocumentChange("people", 1, .evict)])
        try store.close()
    }

    @Test func `commits are shown with their documents`() throws {
        try fill()
        let first = try ToolRun(["show", path, "1"]).lines
        #expect(first.contains(#"collection 0  "cars""#))
        #expect(first.contains { $0.hasPrefix(#"state  cars "a"  "#) })
        #expect(first.contains(#"    {"color":"red","seats":{"front":2}}"#))
        #expect(first.contains("    changed  /color  /seats/front"))
        let second = try ToolRun(["show", path, "2"]).lines
        #expect(second.contains(#"    {"color":"green","drives":3,"seats":{}}"#))
        #expect(second.contains("    changed  /color  /drives"))
        #expect(second.contains("    removed  /seats/front"))
        let third = try ToolRun(["show", path, "3"]).lines
        #expect(third.contains { $0.hasPrefix(#"tombstone  cars {"vin":7}  "#) })
        let fourth = try ToolRun(["show", path, "4"]).lines
        #expect(fourth[1].contains("received from 000000000000fedc as its commit 9"))
        let fifth = try ToolRun(["show", path, "5"]).lines
        #expect(fifth.contains { $0.hasPrefix("evict  people 1, after ") })
        let bytes = try ToolRun(["show", path, "5", "--bytes"]).lines
        #expect(bytes.last?.hasPrefix(#"remove  \x10\x00\x01"#) == true)
    }

    @Test func `commits are shown with their documents as JSON`() throws {
        try fill()
        let objects = try ToolRun(["show", path, "2", "--json"]).objects()
        let document = try #require(objects.first { $0["form"] != nil })
        #expect(document["collection"] as? String == "cars")
        #expect(document["id"] as? String == "a")
        #expect(document["form"] as? String == "state")
        #expect((document["value"] as? [String: Any])?["drives"] as? Int == 3)
        #expect(document["changed"] as? [String] == ["/color", "/drives"])
        #expect(document["removed"] as? [String] == ["/seats/front"])
        let origin = try ToolRun(["show", path, "4", "--json"]).objects()[0]
        #expect(origin["peer"] as? String == "000000000000fedc")
        #expect(origin["peerCommit"] as? Int == 9)
    }

    @Test func `verify finds invalid documents with correct checksums`() throws {
        try fill()
        let right = try ToolRun(["verify", path])
        #expect(right.status == 0 && right.text.hasPrefix("ok: "))
        #expect(right.text.contains("1 document,"))
        let store = try StoreEngine(opening: try PosixVolume(path: path, creatingDirectory: false))
        var batch = WriteBatch()
        let key = StoreKey.document(collection: 0, id: try DocumentID.key(of: "b"))
        try batch.put(key.bytes, [1, 2, 3, 4, 5, 6])
        _ = try store.append(batch)
        try store.close()
        let wrong = try ToolRun(["verify", path])
        #expect(wrong.status == 3)
        #expect(wrong.lines.first?.contains("violates the format: ") == true, "\(wrong.text)")
        let shown = try ToolRun(["show", path, "6"])
        #expect(shown.lines.last?.hasPrefix(#"put     \x10\x00\x00@b\x00  6 bytes"#) == true)
    }

    @Test func `indexes are shown, counted and verified`() throws {
        try fill()
        let store = try StoreEngine(opening: try PosixVolume(path: path, creatingDirectory: false))
        let engine = try DocumentEngine(store)
        for name in ["by color\n", "gone"] {
            _ = try engine.createIndex(
                name, on: "cars",
                [.init(["color"]), .init(["seats", "front"], isDescending: true)],
                flush: { () throws(StorageError) in try store.flush() },
                append: { batch throws(StorageError) in try store.append(batch) })
        }
        _ = try engine.dropIndex("gone", on: "cars") { batch throws(StorageError) in
            try store.append(batch)
        }
        try store.flush()
        try store.writeCheckpoint()
        try store.close()
        let made = try ToolRun(["show", path, "6"]).lines
        #expect(
            made.last == #"index  "cars" 0  "by color\n"  /color, /seats/front DESC"#, "\(made)"
        )
        #expect(try ToolRun(["show", path, "8"]).lines.last == #"drop index  "cars" 1"#)
        let object = try #require(try ToolRun(["show", path, "6", "--json"]).objects().last)
        #expect(object["index"] as? String == "by color\n")
        #expect(object["fields"] as? [String] == ["/color", "/seats/front DESC"])
        let statistics = try ToolRun(["stats", path])
        let row = #"index         "cars" "by color\n" (/color, /seats/front DESC)"#
        #expect(statistics.lines.contains(row), "\(statistics.text)")
        // The index has one entry for the document, and one for the tombstone.
        #expect(try ToolRun(["stats", path, "--json"]).objects()[0]["indexEntries"] as? Int == 2)
        let verified = try ToolRun(["verify", path])
        #expect(verified.status == 0, "\(verified.text)")
    }

    @Test func `the log names the documents of each commit`() throws {
        try fill()
        let lines = try ToolRun(["log", path]).lines
        #expect(lines[0].hasSuffix(#"  cars "a", cars {"vin":7}"#))
        #expect(lines[4].hasSuffix("  people 1"))
    }

    @Test func `blame shows the writer and the commit of each field`() throws {
        try fill()
        let lines = try ToolRun(["blame", path, "cars", "a"]).lines
        #expect(lines.count == 4)
        let writer = "2026-05-28T20:26:40.000Z  0123456789abcdef"
        #expect(
            lines == [
                ".        commit 1  \(writer)  (object)",
                #"/color   commit 2  \#(writer)  "green""#,
                "/drives  commit 2  \(writer)  + 3", "/seats   commit 1  \(writer)  (object)",
            ])
        let objects = try ToolRun(["blame", path, "cars", #"{"vin":7}"#, "--json"]).objects()
        #expect(objects.isEmpty)
        let deleted = try ToolRun(["blame", path, "cars", #"{"vin":7}"#])
        #expect(
            deleted.text
                == "the document was deleted at 2026-05-28T20:26:40.000Z by 0123456789abcdef\n")
        for (words, message) in [
            (["cats", "a"], "no such collection: 'cats'; did you mean 'cars'?"),
            (["cars", "b"], "no document b in collection cars"),
            (["cars", "1.5"], "an _id must not be or contain a float"),
        ] {
            let run = try ToolRun(["blame", path] + words)
            #expect(run.status == 1 && run.errors.contains(message), "\(run.errors)")
        }
    }

    @Test func `blame as JSON has a line for each field`() throws {
        try fill()
        let objects = try ToolRun(["blame", path, "cars", "a", "--json"]).objects()
        #expect(
            objects.map { $0["path"] as? [String] } == [[], ["color"], ["drives"], ["seats"]])
        #expect(objects.map { $0["commit"] as? Int } == [1, 2, 2, 1])
        #expect(objects.map { $0["isExact"] as? Bool } == [true, true, true, true])
        try #require(objects.count == 4)
        #expect(objects[0]["kind"] as? String == "mark" && objects[0]["value"] is NSNull)
        #expect(objects[1]["kind"] as? String == "value")
        #expect(objects[1]["value"] as? String == "green")
        #expect(objects[2]["value"] as? Int == 3)
        let keys: Set = [
            "path", "kind", "value", "commit", "isExact", "time", "timeMilliseconds", "stamp",
            "site",
        ]
        for object in objects {
            #expect(Set(object.keys) == keys)
            #expect(object["time"] as? String == "2026-05-28T20:26:40.000Z")
            #expect(object["timeMilliseconds"] as? Int == 1_780_000_000_000)
            #expect(object["site"] as? String == "0123456789abcdef")
        }
    }

    @Test func `the name of a collection cannot insert a line break`() throws {
        let store = try StoreEngine(
            opening: try PosixVolume(path: path, creatingDirectory: true),
            options: LogStoreOptions())
        _ = try DocumentEngine(store).commit([
            DocumentChange("odd\nname\u{1b}[31m", 1, .insert(["x": 1]))
        ]) { batch throws(StorageError) in try store.append(batch) }
        try store.close()
        let log = try ToolRun(["log", path]).lines
        #expect(log.count == 1 && log[0].hasSuffix(#"odd\x0aname\x1b[31m 1"#))
        let commit = try ToolRun(["show", path, "1"]).lines
        #expect(commit.contains { $0.hasPrefix(#"state  odd\x0aname\x1b[31m 1  "#) })
    }
}
