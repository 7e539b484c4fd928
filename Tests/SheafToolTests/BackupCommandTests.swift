import Foundation
import SheafDocument
import SheafStorage
import SheafTestSupport
import Testing

/// `sheaf backup`, `sheaf restore` and `sheaf diff`.
@Suite struct BackupCommandTests {
    private let directory = TemporaryDirectory()
    private let store: QueryCommandStore

    init() throws {
        store = try QueryCommandStore(
            "cars", (1...5).map { (.integer(Int64($0)), ["color": "blue", "miles": 3]) })
    }

    private func run(_ words: String...) throws -> ToolRun { try ToolRun(words) }

    @Test func `a backup and an incremental one are complete, and the report counts both parts`()
        throws
    {
        let (one, two) = (directory.path("one"), directory.path("two"))
        let first = try run("backup", store.path, one)
        #expect(first.status == 0, "\(first.errors)")
        #expect(first.text.hasPrefix("backed up through commit 1: copied "))
        #expect(first.errors.isEmpty)
        #expect(try store.query("UPDATE cars SET color = 'red' WHERE _id = 2").status == 0)
        let second = try run("backup", store.path, two, "--since", one, "--json")
        let report = try #require(try second.objects().first)
        #expect(report["type"] as? String == "result")
        #expect(report["commit"] as? Int == 2)
        #expect(report["copiedFiles"] as? Int ?? 0 > 0)
        for path in [one, two] {
            #expect(try run("verify", path).status == 0)
        }
        #expect(try run("diff", store.path, two).status == 0)
        let difference = try run("diff", one, two)
        #expect(difference.status == 1)
        #expect(difference.text == "~ cars 2\n")
        #expect(difference.errors.isEmpty)
    }

    @Test func `a restored store can be changed, and diff shows the fields that differ`() throws {
        let (backup, restored) = (directory.path("backup"), directory.path("restored"))
        #expect(try run("backup", store.path, backup).status == 0)
        let restore = try run("restore", backup, restored)
        #expect(restore.text.hasPrefix("restored through commit 1"), "\(restore.errors)")
        let changes = [
            "UPDATE cars SET color = 'red' WHERE _id = 2", "DELETE FROM cars WHERE _id = 3",
            "INSERT INTO cars DOCUMENTS ({'_id': 9})", "UPDATE cars SET miles = 3.0 WHERE _id = 4",
            "INSERT INTO bikes DOCUMENTS ({'_id': 'x'})",
        ]
        for change in changes {
            #expect(try ToolRun(["query", restored, change]).status == 0)
        }
        let text = try run("diff", backup, restored, "--fields")
        #expect(text.status == 1)
        #expect(
            text.lines == [
                #"+ bikes "x""#, "~ cars 2", #"    /color  "blue" -> "red""#, "- cars 3",
                "~ cars 4", "    /miles  3 -> 3.0", "+ cars 9",
            ])
        #expect(try run("diff", backup, restored, "bikes").lines == [#"+ bikes "x""#])
        #expect(
            try run("diff", restored, backup, "--counts").lines == [
                "bikes: 0 equal, 0 different, 1 only in A, 0 only in B",
                "cars: 2 equal, 2 different, 1 only in A, 1 only in B",
            ])
        let objects = try run("diff", backup, restored, "cars", "--fields", "--json").objects()
        #expect(
            objects.map { $0["difference"] as? String } == [
                "fields", "onlyA", "fields", "onlyB",
            ])
        let field = try #require((objects[0]["fields"] as? [[String: Any]])?.first)
        #expect(field["path"] as? [String] == ["color"])
        #expect(field["a"] as? String == "blue")
        #expect(field["bType"] as? String == "register")
        #expect(try run("diff", backup, backup, "--counts").status == 0)
    }

    @Test func `fields with equal values differ by their types, or are missing`() throws {
        let (backup, one, two) = (
            directory.path("backup"), directory.path("one"), directory.path("two")
        )
        #expect(try run("backup", store.path, backup).status == 0)
        for path in [one, two] { #expect(try run("restore", backup, path).status == 0) }
        for (path, change) in [
            (one, "UPDATE cars SET hits = 2 WHERE _id = 1"),
            (two, "UPDATE COLLECTION cars (hits COUNTER) APPLY hits INCREMENT BY 2 WHERE _id = 1"),
            (two, "UPDATE cars UNSET miles WHERE _id = 2"),
        ] { #expect(try ToolRun(["query", path, change]).status == 0) }
        #expect(
            try run("diff", one, two, "--fields").lines == [
                "~ cars 1", "    /hits  2 (register) -> 2 (counter)", "~ cars 2",
                "    /miles  3 (register) -> (missing)",
            ])
        #expect(
            try run("diff", two, one, "--fields").lines == [
                "~ cars 1", "    /hits  2 (counter) -> 2 (register)", "~ cars 2",
                "    /miles  (missing) -> 3 (register)",
            ])
        #expect(try run("diff", one, two, "--json").lines.count == 2)
        let objects = try run("diff", one, two, "--fields", "--json").objects()
        let fields = objects.compactMap { ($0["fields"] as? [[String: Any]])?.first }
        try #require(fields.count == 2)
        #expect(fields.map { $0["aType"] as? String } == ["register", "register"])
        #expect(fields.map { $0["bType"] as? String } == ["counter", nil])
        #expect(fields[1]["b"] is NSNull && fields[1]["bType"] is NSNull)
        #expect(fields.map { $0["a"] as? Int } == [2, 3])
        #expect(objects.map { $0["id"] as? Int } == [1, 2])
        let counts = try run("diff", one, two, "--counts", "--json").objects()
        let expected = ["equal": 3, "onlyA": 0, "onlyB": 0, "different": 2]
        #expect(counts.count == 1 && counts[0]["collection"] as? String == "cars")
        for (key, number) in expected { #expect(counts[0][key] as? Int == number, "\(key)") }
    }

    @Test func `refusals name what is wrong and leave nothing`() throws {
        let backup = directory.path("backup")
        #expect(try run("backup", store.path, backup).status == 0)
        let again = try run("backup", store.path, backup)
        #expect(again.status == 1)
        #expect(again.errors.contains("has files in it"))
        let inside = try run("backup", store.path, store.path + "/inner")
        #expect(inside.errors.contains("is inside"))
        let missing = try run("backup", directory.path("nothing"), directory.path("new"))
        #expect(missing.errors.contains("there is no store at"))
        let base = try run("backup", store.path, directory.path("new"), "--since", "nowhere")
        #expect(base.errors.contains("there is no store at nowhere"))
        #expect(try run("backup", store.path).status == 64)
        #expect(try run("diff", store.path, backup, "vans").errors.contains("neither store has"))
        #expect(try run("diff", store.path, backup, "--counts", "--fields").status == 64)
        let names = try PosixVolume(path: directory.path, creatingDirectory: false).names()
        #expect(names == ["backup"])
    }

    @Test func `a full disk leaves no backup`() throws {
        let run = try store.script(
            "ulimit -f 1; \"$0\" backup \"$STORE\" '\(directory.path("new"))'")
        #expect(run.status == 1)
        #expect(run.errors.contains("full"), "\(run.errors)")
        let names = try PosixVolume(path: directory.path, creatingDirectory: false).names()
        #expect(names.isEmpty)
    }
}
