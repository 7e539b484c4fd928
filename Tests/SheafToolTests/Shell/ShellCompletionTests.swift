import Foundation
import SheafTestSupport
import Testing

/// Completion by the Tab key.
@Suite struct ShellCompletionTests {
    @Test(arguments: [
        ("SEL\t", "SELECT"), ("sel\t", "select"), ("SELECT * FROM ca\t", "SELECT * FROM cars"),
        ("SELECT * FROM cars WHERE mil\t", "SELECT * FROM cars WHERE mileage"),
        ("SELECT * FROM cars WHERE place.ci\t", "SELECT * FROM cars WHERE place.city"),
        ("SELECT * FROM cars WHERE cars.place.ci\t", "SELECT * FROM cars WHERE cars.place.city"),
        (
            "SELECT * FROM cars c JOIN trips t ON t.purp\t",
            "SELECT * FROM cars c JOIN trips t ON t.purpose"
        ),
        ("SELECT * FROM cars ORD\t", "SELECT * FROM cars ORDER"),
        ("SELECT * FROM cars AS o\t", "SELECT * FROM cars AS of"),
        ("SELECT * FROM cars AS OF C\t", "SELECT * FROM cars AS OF COMMIT"),
        (
            "SELECT * FROM cars AS OF COMMIT 1 c WHERE c.mil\t",
            "SELECT * FROM cars AS OF COMMIT 1 c WHERE c.mileage"
        ),
        ("SELECT * FROM system:coll\t", "SELECT * FROM system:collections"),
        ("SELECT substr\t", "SELECT substr("),
        ("UPDATE own\t", "UPDATE owners"), ("INSERT INTO tr\t", "INSERT INTO trips"),
        (".colle\t", ".collections"), (".mode markd\t", ".mode markdown"),
        (".fields own\t", ".fields owners"),
        (
            ".explain SELECT * FROM ca\t",
            ".explain SELECT * FROM cars"
        ), ("EXPLAIN SEL\t", "EXPLAIN SELECT"),
        (".import cars f.txt --for\t", ".import cars f.txt --format"),
        (".import cars f.txt --format c\t", ".import cars f.txt --format csv"),
        (".import cars f.txt --format=c\t", ".import cars f.txt --format=csv"),
        (".export cars --format mark\t", ".export cars --format markdown"),
        (".import ow\t", ".import owners"), (".watch --mo\t", ".watch --mode"),
    ])
    func `Tab completes the word`(keys: String, line: String) throws {
        let shell = try ShellScene(columns: 100)
        try shell.type(keys, showing: "sheaf> " + line)
    }

    @Test func `fields are completed before their collection, too`() throws {
        let shell = try ShellScene()
        try shell.type("SELECT  FROM cars", showing: "sheaf> SELECT  FROM cars")
        let back = String(repeating: "\u{1B}[D", count: 10)
        try shell.type(back + "mil\t", showing: "sheaf> SELECT mileage  FROM cars")
    }

    @Test func `a field is completed on a later line of its statement`() throws {
        let shell = try ShellScene()
        try shell.enter("SELECT * FROM cars", prompt: "  ...> ")
        try shell.type("WHERE elec\t", showing: "  ...> WHERE electric")
    }

    @Test func `several candidates complete what they have in common, and are then listed`() throws
    {
        let shell = try ShellScene()
        try shell.type(
            "SELECT * FROM cars WHERE ma\t", showing: "sheaf> SELECT * FROM cars WHERE ma")
        let rows = shell.screen.lines
        #expect(
            rows.contains { $0.contains("make") && $0.contains("map_") || $0 == "make" }
                || rows.joined().contains("make"))
        try shell.type("k\t", showing: "sheaf> SELECT * FROM cars WHERE make")
        let answer = try shell.enter("= 'Fiat';")
        #expect(answer.contains("Fiat"), "\(answer)")
    }

    @Test func `there is nothing to complete in a string or a comment`() throws {
        let shell = try ShellScene()
        try shell.type("SELECT 'SEL\t'", showing: "sheaf> SELECT 'SEL'")
        try shell.type("\u{15}/* SEL\t*/", showing: "sheaf> /* SEL*/")
        try shell.type("\u{15}zzz\t;", showing: "sheaf> zzz;")
    }

    @Test func `names that need backticks get them`() throws {
        let shell = try ShellScene()
        try shell.enter("INSERT INTO `two words` DOCUMENTS ({'_id': 1, 'where to': 2});")
        try shell.type("SELECT * FROM two\t", showing: "sheaf> SELECT * FROM `two words`")
        try shell.type("WHERE `wh\t", showing: "sheaf> SELECT * FROM `two words` WHERE `where to`")
        #expect(try shell.enter("= 2;").contains("1 row"))
    }

    @Test func `file names are completed`() throws {
        let shell = try ShellScene()
        let name = shell.directory.path("statements.txt")
        _ = FileManager.default.createFile(
            atPath: name, contents: Data("SELECT 3 AS three FROM system:dual;".utf8))
        try shell.enter(".cd '\(shell.directory.path(""))'")
        try shell.type(".read stat\t", showing: "sheaf> .read statements.txt")
        #expect(try shell.enter("").contains("three"))
    }

    @Test(arguments: [(9, 5), (7, 4)])
    func `a list of candidates leaves four rows of the terminal, and has at least four`(
        _ rows: Int, _ shown: Int
    ) throws {
        let shell = try ShellScene(columns: 40, rows: rows)
        for number in 1...9 {
            _ = FileManager.default.createFile(
                atPath: shell.directory.path("entry-of-a-directory-\(number)"), contents: nil)
        }
        shell.run.type(".read \(shell.directory.path("entry-of-a-directory-"))\t")
        try shell.wait(showing: "… and \(9 - shown) more; type some letters first")
        let listed = shell.screen.lines.filter { line in
            (1...9).contains { line == "entry-of-a-directory-\($0)" }
        }
        #expect(Set(listed).count == shown && listed.count == shown, "\(shell.text)")
    }

    @Test func `Tab lists the values of an option`() throws {
        let shell = try ShellScene()
        let line = ".import cars f.txt --format "
        try shell.type(line, showing: "sheaf> " + line)
        shell.run.type("\t")
        try shell.wait(showing: "jsonl   json    csv     sqlite")
    }

    @Test func `completion offers new fields and collections`() throws {
        let shell = try ShellScene()
        try shell.enter("INSERT INTO fresh DOCUMENTS ({'_id': 1, 'first_name': 2});")
        try shell.type("SELECT * FROM fre\t", showing: "sheaf> SELECT * FROM fresh")
        try shell.type("WHERE first\t", showing: "sheaf> SELECT * FROM fresh WHERE first_name")
        try shell.type("\u{15}", showing: "sheaf>")
        try shell.enter("INSERT INTO fresh DOCUMENTS ({'_id': 2, 'last_name': 2});")
        try shell.type(
            "SELECT * FROM fresh WHERE last\t",
            showing: "sheaf> SELECT * FROM fresh WHERE last_name")
    }

    @Test func `completion offers the fields of the store that .open has opened`() throws {
        let directory = TemporaryDirectory()
        for name in ["a", "b"] {
            let insert = "INSERT INTO t DOCUMENTS ({'_id': 1, 'field_\(name)': 2})"
            #expect(try ToolRun([directory.path(name), "-c", insert]).status == 0)
        }
        let shell = try ShellScene([directory.path("a")], in: directory, columns: 160)
        for name in ["a", "b"] {
            try shell.enter(".open \(directory.path(name))")
            let line = "SELECT * FROM t WHERE field_\(name)"
            try shell.type(String(line.dropLast(2)) + "\t", showing: "sheaf> " + line)
            try shell.type("\u{15}", showing: "sheaf>")
        }
    }
}
