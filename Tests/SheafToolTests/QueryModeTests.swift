import Foundation
import SheafDocument
import SheafTestSupport
import Testing

/// Rows in each output mode.
@Suite struct QueryModeTests {
    private func cars() throws -> QueryCommandStore {
        try QueryCommandStore(
            "cars",
            [
                ("a", ["color": "blue", "miles": 3_000, "note": "says \"hi\",\nleaves"]),
                ("b", ["color": "rot|*red*", "miles": 10.5, "parts": ["n": [1, .null]]]),
                (["vin": 7], ["color": .null, "name": "", "word": "null"]),
            ])
    }

    private let all = "SELECT * FROM cars"

    @Test func `a table has aligned columns in the order of their appearance`() throws {
        let run = try cars().query(all)
        #expect(run.status == 0 && run.errors.isEmpty)
        #expect(
            run.text == #"""
                _id       | color     | miles | note               | parts          | name | word
                ----------+-----------+-------+--------------------+----------------+------+-----
                a         | blue      |  3000 | says "hi",\nleaves |                |      |
                b         | rot|*red* |  10.5 |                    | {"n":[1,null]} |      |
                {"vin":7} | null      |       |                    |                |      | null

                3 rows

                """#)
    }

    @Test func `the columns of a projection keep its order, even without values`() throws {
        let store = try cars()
        let statement = "SELECT miles, nothing, color FROM cars WHERE miles > 0 ORDER BY miles"
        #expect(
            try store.query(statement).text == """
                miles | nothing | color
                ------+---------+----------
                 10.5 |         | rot|*red*
                 3000 |         | blue

                2 rows

                """)
        #expect(
            try store.query(statement, "--mode=csv").text
                == "miles,nothing,color\r\n10.5,,rot|*red*\r\n3000,,blue\r\n")
        #expect(
            try store.query(statement, "--mode", "line").text
                == "miles = 10.5\ncolor = rot|*red*\n\nmiles = 3000\ncolor = blue\n")
        #expect(
            try store.query(statement, "--mode=markdown").text == #"""
                | miles | nothing | color |
                | ---: | --- | --- |
                | 10.5 |  | rot\|\*red\* |
                | 3000 |  | blue |

                """#)
    }

    @Test func `a box has a border around the aligned columns`() throws {
        let statement = "SELECT miles, color FROM cars WHERE miles > 0 ORDER BY miles"
        #expect(
            try cars().query(statement, "--mode=box").text == """
                ┌───────┬───────────┐
                │ miles │ color     │
                ├───────┼───────────┤
                │  10.5 │ rot|*red* │
                │  3000 │ blue      │
                └───────┴───────────┘
                2 rows

                """)
    }

    @Test func `TSV escapes tabs, and distinguishes null from a text`() throws {
        let store = try QueryCommandStore(
            "t",
            [
                (1, ["x": "a\tb\\c\r\nd", "y": .null]), (2, ["x": "null", "y": "\\N"]),
                (3, ["y": ""]),
            ])
        #expect(
            try store.query("SELECT _id, x, y FROM t ORDER BY _id", "--mode=tsv").text
                == "_id\tx\ty\n1\ta\\tb\\\\c\\r\\nd\t\\N\n2\tnull\t\\\\N\n3\t\t\n")
    }

    @Test func `the mode json is one array of the lines of jsonl`() throws {
        let store = try cars()
        for statement in [
            all, all + " WHERE _id = 'a'", all + " WHERE false", "PROFILE " + all,
            "EXPLAIN " + all, "ADVISE " + all + " WHERE color = 'blue'",
        ] {
            let array = try store.query(statement, "--mode=json")
            guard case .array(let values) = try Value(jsonBytes: Array(array.output)) else {
                Issue.record("\(array.text)")
                continue
            }
            let lines = try store.query(statement, "--json").lines.map { try Value(json: $0) }
            #expect(values.count == lines.count)
            // Profiles have times.
            if !statement.hasPrefix("PROFILE") { #expect(values == lines, "\(statement)") }
        }
        let write = try store.query("UPDATE cars SET n = 1 RETURNING _id", "--mode=json")
        #expect(
            write.text == """
                [{"_id":"a"},
                 {"_id":"b"},
                 {"_id":{"vin":7}},
                 {"commit":2,"changed":3,"ids":["a","b",{"vin":7}]}]

                """)
    }

    @Test func `JSON lines have one row per line, formatted like documents`() throws {
        #expect(
            try cars().query(all, "--mode", "jsonl").text == #"""
                {"_id":"a","color":"blue","miles":3000,"note":"says \"hi\",\nleaves"}
                {"_id":"b","color":"rot|*red*","miles":10.5,"parts":{"n":[1,null]}}
                {"_id":{"vin":7},"color":null,"name":"","word":"null"}

                """#)
    }

    @Test func `CSV quotes where required, and distinguishes empty, missing and null`() throws {
        #expect(
            try cars().query(all, "--mode", "csv").text
                == #"""
                _id,color,miles,note,parts,name,word
                a,blue,3000,"says ""hi"",
                leaves",,,
                b,rot|*red*,10.5,,"{""n"":[1,null]}",,
                "{""vin"":7}",null,,,,"","null"

                """#.replacing("\n", with: "\r\n").replacing(",\r\nleaves", with: ",\nleaves"))
    }

    @Test func `Markdown shows texts literally`() throws {
        let store = try QueryCommandStore(
            "t", [(1, ["a_b": "x\ny", "c": "__init__ `x` <b> a&b [c](d) ~e~ f\\g"])])
        #expect(
            try store.query("SELECT * FROM t", "--mode", "markdown").text == #"""
                | _id | a_b | c |
                | ---: | --- | --- |
                | 1 | x<br>y | \_\_init\_\_ \`x\` \<b> a\&b \[c](d) \~e\~ f\\g |

                """#)
    }

    @Test func `an empty result prints its columns if they are known`() throws {
        let store = try cars()
        let (known, unknown) = ("SELECT color, miles FROM cars WHERE false", all + " WHERE false")
        let cases: [(mode: String, known: String, unknown: String)] = [
            ("table", "color | miles\n------+------\n\n0 rows\n", "0 rows\n"),
            ("jsonl", "", ""), ("json", "[]\n", "[]\n"), ("line", "", ""),
            ("csv", "color,miles\r\n", ""), ("tsv", "color\tmiles\n", ""),
            (
                "box",
                "┌───────┬───────┐\n│ color │ miles │\n├───────┼───────┤\n└───────┴───────┘\n0 rows\n",
                "0 rows\n"
            ),
            ("markdown", "| color | miles |\n| --- | --- |\n", ""),
        ]
        for (mode, expected, other) in cases {
            #expect(try store.query(known, "--mode", mode).text == expected, "\(mode)")
            #expect(try store.query(unknown, "--mode", mode).text == other, "\(mode)")
        }
    }

    @Test func `wide characters, emoji and combining marks are padded by terminal width`() throws {
        let store = try QueryCommandStore(
            "t",
            [
                (1, ["x": "家族"]), (2, ["x": "e\u{301}e\u{301}"]), (3, ["x": "👨‍👩‍👧 ❤️ 🇩🇪"]),
                (4, ["x": "한국\u{1112}\u{1161}"]), (5, ["x": "ｆｕ"]), (6, ["x": "नमस्ते"]),
            ])
        // Each value is padded to eight cells.
        #expect(
            try store.query("SELECT x, _id FROM t ORDER BY _id").text == """
                x        | _id
                ---------+----
                家族     |   1
                e\u{301}e\u{301}       |   2
                👨‍👩‍👧 ❤️ 🇩🇪 |   3
                한국\u{1112}\u{1161}   |   4
                ｆｕ     |   5
                नमस्ते     |   6

                6 rows

                """)
    }

    @Test func `long values are truncated in tables, by cells`() throws {
        let store = try QueryCommandStore(
            "t",
            [
                (1, ["x": .string(String(repeating: "a", count: 60))]),
                (2, ["x": .string(String(repeating: "a", count: 61))]),
                (3, ["x": .string(String(repeating: "家", count: 30))]),
                (4, ["x": .string(String(repeating: "家", count: 31))]),
                (5, ["x": .string("b" + String(repeating: "\u{301}", count: 5_000))]),
            ])
        let lines = try store.query("SELECT x FROM t ORDER BY _id").lines
        #expect(
            lines == [
                "x", String(repeating: "-", count: 60), String(repeating: "a", count: 60),
                String(repeating: "a", count: 59) + "…", String(repeating: "家", count: 30),
                String(repeating: "家", count: 29) + "…", "…", "5 rows",
            ])
        let line = try store.query("SELECT x FROM t WHERE _id = 4", "--mode=line").text
        #expect(line == "x = " + String(repeating: "家", count: 31) + "\n")
    }

    @Test func `CSV escapes control characters only for a terminal`() throws {
        let store = try QueryCommandStore("t", [(1, ["x": "\u{1B}[31m\u{9B}"])])
        #expect(
            try store.query("SELECT x FROM t", "--mode=csv").text == "x\r\n\u{1B}[31m\u{9B}\r\n")
        let script = "/usr/bin/script"
        guard FileManager.default.isExecutableFile(atPath: script) else { return }
        let run = try store.script(
            """
            export STORE TOOL="$0"
            \(script) -qec '"$TOOL" query "$STORE" "SELECT x FROM t" --mode=csv' /dev/null
            """)
        #expect(run.text.contains(#"\u001b[31m\u009b"#), "\(run.text.debugDescription)")
        #expect(!run.text.contains("\u{1B}"))
    }

    @Test func `rows with too many different fields are refused in modes with columns`() throws {
        let store = try QueryCommandStore(
            "t",
            (0..<1_001).map { number in
                (id: .integer(number), fields: Object([("f\(number)", .null)]))
            })
        for mode in ["box", "table", "csv", "tsv", "markdown"] {
            let run = try store.query("SELECT * FROM t", "--mode", mode)
            #expect(run.status == 1 && run.output.isEmpty)
            #expect(run.errors.contains("more than 1000 different fields"), "\(run.errors)")
        }
        #expect(try store.query("SELECT * FROM t", "--mode", "jsonl").lines.count == 1_001)
        #expect(try store.query("SELECT * FROM t", "--mode", "line").lines.count == 2_002)
    }
}
