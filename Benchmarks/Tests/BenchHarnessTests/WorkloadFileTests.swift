import BenchWorkloads
import SheafTestSupport
import Testing

/// The parser of workload files.
@Suite struct WorkloadFileTests {
    private static let examples = ["point-of-sale", "feed", "sensors"]

    private func example(_ name: String) throws -> String {
        try ProjectFile.text("Benchmarks/Workloads/\(name).workload")
    }

    private func parse(_ text: String) throws(WorkloadFileError) -> WorkloadFile {
        try WorkloadFileParser.parse(text, name: "test")
    }

    /// Returns `line:column: message; hint` of the error of a file.
    private func failure(_ text: String) -> String {
        do throws(WorkloadFileError) {
            _ = try parse(text)
            return "no error"
        } catch {
            let hint = error.hint.map { "; \($0)" } ?? ""
            return "\(error.line):\(error.column): \(error.message)\(hint)"
        }
    }

    @Test(arguments: examples)
    func `the canonical text of an example parses to the same text`(_ name: String) throws {
        let text = try parse(try example(name)).text
        #expect(try parse(text).text == text)
        #expect(text.contains("[mix "))
    }

    @Test func `the example of the page is a valid file`() throws {
        let page = try ProjectFile.text("Benchmarks/README.md")
        let start = try #require(page.ranges(of: "```ini\n").first?.upperBound)
        let end = try #require(page[start...].ranges(of: "\n```").first?.lowerBound)
        let file = try parse(String(page[start..<end]))
        #expect(file.setup.map(\.name) == ["cars"] && file.mix.map(\.name) == ["find", "drive"])
        #expect(throws: Never.self) { try SQLiteStatements(file) }
    }

    @Test func `settings, steps and arguments are read`() throws {
        let file = try parse(
            """
            # a comment
            [run]
            tasks = 3
            operations = 1_000
            warm-up = 250 ms
            rounds = 7
            durability = relaxed
            rows = json
            seed = 18446744073709551615

            [setup cars]
            times = 20
            batch = 5
            statement = INSERT INTO cars
              # a comment within a value
              DOCUMENTS (:car)
            :car = {
              "_id": new_id("cars"), tags: [1, -2.50, "x", null, true],
            }

            [mix get]
            weight = 2.5
            times = 4
            statement = SELECT * FROM cars WHERE _id = :id
            statement = SELECT COUNT(*) FROM cars
            :id = id("cars", "zipf")
            """)
        #expect(file.settings.tasks == 3 && file.settings.limit == .operations(1_000))
        #expect(file.settings.warmUpSeconds == 0.25 && file.settings.rounds == 7)
        #expect(file.settings.durability == .relaxed && file.settings.rows == .json)
        #expect(file.settings.seed == .max)
        #expect(file.setup.map(\.name) == ["cars"] && file.setup[0].batch == 5)
        #expect(file.setup[0].times == 20)
        #expect(file.mix[0].statements.count == 2 && file.mix[0].weight == 2.5)
        #expect(file.mix[0].times == 4 && file.mix[0].isReading)
        #expect(
            file.setup[0].arguments[0].generator.text
                == #"{"_id": new_id("cars"), "tags": [1, -2.5, "x", null, true]}"#)
    }

    @Test func `a duration is read in each unit`() throws {
        let mix = "\n[mix a]\nstatement = SELECT * FROM c"
        for (text, seconds) in [("1.5 s", 1.5), ("200ms", 0.2), ("2 min", 120)] {
            let file = try parse("[run]\nduration = \(text)\(mix)")
            #expect(file.settings.limit == .seconds(seconds))
        }
    }

    private static let mix = "[mix a]\nstatement = SELECT * FROM c WHERE a = :x\n"

    @Test(arguments: [
        ("", "1:1: the file has no operation to measure; add a section [mix NAME]"),
        ("tasks = 1", "1:1: this key precedes all sections; begin with [run] or [setup NAME]"),
        (
            " tasks = 1",
            "1:1: this line continues no value; begin keys and sections in the first column"
        ),
        ("[run]\ntasks", "2:1: expected KEY = VALUE or [SECTION]"),
        ("[run]\ntasks = 0", "2:9: tasks must be an integer from 1 to 1000, not 0"),
        ("[run]\ntasks =", "2:8: tasks has no value"),
        ("[run]\ntakss = 1", "2:1: unknown key takss: did you mean tasks?"),
        (
            "[run]\nqqqqqqqqqqqq = 1",
            "2:1: unknown key qqqqqqqqqqqq; keys here are tasks, duration, operations, warm-up, "
                + "rounds, durability, rows, seed"
        ),
        ("[run]\nseed = 1\nseed = 2", "3:1: seed is set twice"),
        (
            "[run]\nseed = -1",
            "2:8: seed must be an integer from 0 to 2^64 - 1, not -1"
        ),
        (
            "[run]\nduration = 5",
            "2:12: duration must be a time from 10 ms to 60 min, such as 2 s, not 5"
        ),
        (
            "[run]\nduration = 5 s\noperations = 5",
            "3:14: duration and operations are both set; remove one of them"
        ),
        ("[run]\ndurability = half", "2:14: durability must be full or relaxed, not half"),
        ("[run]\n[run]", "2:1: [run] must be the first section, and occur once"),
        ("[run x]", "1:1: [run] has no name"),
        ("[run", "1:1: the section has no ]; write [run] or [mix NAME]"),
        ("[mxi a]", "1:1: unknown section [mxi]: did you mean mix?"),
        (
            "[benchmarks]",
            "1:1: unknown section [benchmarks]; sections are [run], [setup NAME] and [mix NAME]"
        ),
        ("[mix]", "1:1: expected one name in [mix NAME]"),
        ("[mix a b]", "1:1: expected one name in [mix NAME]"),
        (
            "[mix A]",
            "1:1: invalid name A; use lower-case letters, digits and -, at most 40; `all` is "
                + "reserved"
        ),
        ("[mix a]\n", "1:1: the section has no statement; add statement = …"),
        (
            mix,
            "1:1: the statement uses :x, which has no generator; add a line such as "
                + ":x = uniform(1, 100)"
        ),
        (mix + ":x = 1\n:y = 2", "1:1: no statement of the section uses :y; use it, or remove it"),
        (mix + ":x = 1\n:x = 2", "4:1: :x is set twice"),
        (mix + ":x = 1\n" + mix, "4:1: a second section of this kind has the name a"),
        (
            mix + ":1x = 1",
            "3:1: invalid argument :1x; use letters, digits and _, as in the statement"
        ),
        (
            mix + ":x = maybe(0.5, 1)",
            "3:6: an argument cannot be left out; use maybe within an object or array"
        ),
        (
            mix + "weight = 0",
            "3:10: weight must be a number from 0.000001 to 1000000000, not 0"
        ),
        (
            "[mix a]\nstatement = SHOW ALL",
            "2:13: this statement is not measured; write SELECT, INSERT, UPDATE, DELETE, EVICT or "
                + "CREATE INDEX"
        ),
    ])
    func `an error names the location, the cause and a correct form`(
        _ text: String, _ expected: String
    ) {
        #expect(failure(text) == expected)
    }

    @Test(arguments: [
        (
            "",
            "3:6: expected a value, such as 5, \"text\", {…} or uniform(1, 100), not the end of "
                + "the value"
        ),
        ("unifrom(1, 2)", "3:6: unknown generator unifrom: did you mean uniform?"),
        ("uniform(1)", "3:6: invalid arguments of uniform; write uniform(LOW, HIGH)"),
        (
            "uniform(5, 1)",
            "3:14: the lower bound 5 exceeds the upper bound 1; write uniform(LOW, HIGH)"
        ),
        ("zipf(5, 99)", "3:14: the exponent must be from 0.01 to 10"),
        ("zipf(0)", "3:6: invalid arguments of zipf; write zipf(COUNT) or zipf(COUNT, EXPONENT)"),
        (
            "text(-1)",
            "3:6: invalid arguments of text; write text(LENGTH) or text(SHORTEST, LONGEST)"
        ),
        ("pick()", "3:6: invalid arguments of pick; write pick(VALUE, …)"),
        (
            "weighted(1, 2, 3)",
            "3:6: invalid arguments of weighted; write weighted(WEIGHT, VALUE, …)"
        ),
        (
            "chance(2)",
            "3:6: invalid arguments of chance; write chance(SHARE) with a share from 0 to 1"
        ),
        (
            "time(\"today\", \"2026-01-01\")",
            "3:6: invalid arguments of time; write time(\"2026-01-01\", \"2026-12-31\")"
        ),
        (
            "clock(\"2026-01-01\", \"1x\")",
            "3:6: invalid arguments of clock; write clock(\"2026-01-01\", \"1s\")"
        ),
        (
            "id(\"c\")",
            "3:6: no document of the file has new_id(\"c\"); use it as the _id of inserted documents"
        ),
        (
            "id(\"c\", \"best\")",
            "3:6: invalid arguments of id; write id(\"COLLECTION\"), with \"zipf\" or \"newest\" as a "
                + "second argument"
        ),
        (
            "[new_id(\"c\"), new_id(\"c\", \"rising\")]",
            "3:20: new_id(\"c\") occurs with and without \"rising\""
        ),
        ("{\"a\": 1, \"a\": 2}", "3:15: the object has two fields a"),
        ("{\"a\" 1}", "3:11: expected `:`, not 1"),
        ("{1: 2}", "3:7: expected the name of a field, not 1"),
        ("[1 2]", "3:9: expected `,` or `]`, not 2"),
        ("[1", "3:8: expected `,` or `]`, not the end of the value"),
        ("1 2", "3:8: expected the end of the value, not 2"),
        ("\"abc", "3:6: the text has no closing \""),
        ("\"\\q\"", "3:7: unknown escape; write \\\\ for a backslash"),
        ("12x", "3:6: invalid number 12x"),
        ("99999999999999999999", "3:6: the integer has more than 64 bits"),
        ("%", "3:6: unexpected character %"),
        ("{\n  \"a\": unifrom(1, 2)}", "4:8: unknown generator unifrom: did you mean uniform?"),
    ])
    func `an error in a generator names its line and column`(
        _ generator: String, _ expected: String
    ) {
        #expect(failure(Self.mix + ":x = \(generator)") == expected)
    }

    @Test func `an error in a statement has its location in the file`() {
        let found = failure("[mix a]\nstatement = SELECT *\n  FROM cars\n  WHER a = 1\n")
        #expect(found.hasPrefix("4:"))
        #expect(failure("[mix a]\nstatement = SELEC * FROM cars").hasPrefix("2:13: "))
    }

    @Test func `the description shows the line and a mark`() throws {
        let error = #expect(throws: WorkloadFileError.self) { try parse("[run]\ntasks = many") }
        let found = try #require(error).description(file: "shop.workload")
        let lines = [
            "shop.workload:2:9: tasks must be an integer from 1 to 1000, not many",
            "  tasks = many", "          ^",
        ]
        #expect(found == lines.joined(separator: "\n"))
    }

    @Test func `damaged files are refused or parsed, in bounded time`() throws {
        let seed = UInt64.random(in: 0..<1_000_000)
        print("seed \(seed)")
        var random = SeededRandom(seed: seed)
        let texts = try Self.examples.map { Array(try example($0).utf8) }
        let pieces = ["[", "{", "(", "\"", "\\u", "=", "\n", ":", "1e999", "-", "\u{0}", "'", "#"]
        for _ in 0..<400 {
            var bytes = texts[random.below(texts.count)]
            for _ in 0...random.below(4) {
                let at = random.below(bytes.count)
                switch random.below(3) {
                case 0: bytes.remove(at: at)
                case 1: bytes.insert(contentsOf: pieces[random.below(pieces.count)].utf8, at: at)
                default: bytes[at] = UInt8(random.below(256))
                }
            }
            let text = String(decoding: bytes, as: UTF8.self)
            if let file = try? parse(text) { #expect(try parse(file.text).text == file.text) }
        }
    }

    @Test func `deep nesting and huge files are refused`() {
        let deep = String(repeating: "[", count: 100_000)
        #expect(failure(Self.mix + ":x = \(deep)") == "3:38: more than 32 levels of nesting")
        let huge = String(repeating: "#\n", count: 1 << 20)
        #expect(failure(huge).hasPrefix("1:1: the file has 2097152 bytes; the maximum is"))
    }
}
