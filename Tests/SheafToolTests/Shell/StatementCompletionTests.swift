import Sheaf
import SheafCompletion
import SheafDocument
import SheafStatements
import Testing

/// Tests of the completion of statements over a store, and of the sample of its fields.
@Suite struct StatementCompletionTests {
    private func store(_ statements: String...) async throws -> Store {
        let store = try await Store.inMemory()
        for statement in statements { try await store.execute(DQL(verbatim: statement)) }
        return store
    }

    private func scene() async throws -> Store {
        try await store(
            "INSERT INTO cars DOCUMENTS ({'_id': 1, 'make': 'x', 'place': {'city': 'a', 'zip': 1}})",
            "INSERT INTO cars DOCUMENTS ({'_id': 2, 'make': 1, 'miles': 2})",
            "INSERT INTO trips DOCUMENTS ({'_id': 1, 'make': 1, 'purpose': 'p'})",
            "INSERT INTO `two words` DOCUMENTS ({'_id': 1, 'where to': 2})")
    }

    /// The texts of all candidates, separated by spaces.
    private func texts(_ answer: StatementCompletion.Answer) -> String {
        answer.candidates.map(\.text).joined(separator: " ")
    }

    @Test func `names are those that the position permits`() async throws {
        let store = try await scene()
        let completion = StatementCompletion()
        for (before, after, prefix, texts) in [
            ("SELECT * FROM ca", "", "ca", "cars"), ("SELECT * FROM CA", "", "CA", "cars"),
            ("SELECT * FROM ", "", "", "cars trips `two words` system:"),
            ("INSERT INTO ", "", "", "cars trips `two words`"),
            ("DELETE FROM t", "", "t", "trips `two words`"), ("UPDATE tw", "", "tw", "`two words`"),
            ("SELECT * FROM sy", "", "sy", "system:"), ("UPDATE sy", "", "sy", ""),
            ("SELECT * FROM `t", "", "t", "trips` two words`"),
            ("SELECT * FROM system:coll", "", "coll", "collections"),
            ("SELECT * FROM cars WHERE ", "", "", "_id make place miles"),
            ("SELECT ", " FROM trips", "", "_id make purpose"),
            ("SELECT * FROM cars c JOIN trips t ON ", "", "", "_id make place miles purpose c t"),
            ("SELECT * FROM cars WHERE place.", "", "", "city zip"),
            ("SELECT * FROM cars WHERE place.z", "", "z", "zip"),
            ("SELECT * FROM cars WHERE cars.place.c", "", "c", "city"),
            ("SELECT * FROM cars WHERE miles.", "", "", ""),
            ("SELECT * FROM cars c JOIN trips t ON t.", "", "", "_id make purpose"),
            ("SELECT * FROM cars c JOIN trips t ON c.", "", "", "_id make place miles"),
            ("SELECT * FROM cars c JOIN trips t ON trips.p", "", "p", "purpose"),
            ("SELECT * FROM cars c JOIN trips t ON place.", "", "", "city zip"),
            ("SELECT * FROM cars ", "", "", "_id make place miles AS OF AS OF COMMIT"),
            ("SELECT * FROM `two words` WHERE ", "", "", "_id `where to`"),
            ("SELECT * FROM `two words` WHERE `w", "", "w", "where to`"),
            ("SEL", "", "SEL", "SELECT"), ("Sel", "", "Sel", "select"),
            ("SELECT * FROM cars AS OF C", "", "C", "COMMIT"), ("SELECT 'a", "", "", ""),
        ] as [(String, String, String, String)] {
            let answer = completion.answer(before, after, in: store)
            #expect(answer.prefix == prefix, "\(before)")
            #expect(self.texts(answer) == texts, "\(before)")
        }
        try await store.close()
    }

    @Test func `words of the language follow the names, in the case of the prefix`() async throws {
        let store = try await scene()
        let completion = StatementCompletion()
        func answer(_ before: String) -> [StatementCompletion.Candidate] {
            completion.answer(before, "", in: store).candidates
        }
        let lower = StatementCompletion.Candidate("substr(", label: "substr()", isComplete: false)
        let upper = StatementCompletion.Candidate("SUBSTR(", label: "substr()", isComplete: false)
        #expect(answer("SELECT subs").contains(lower) && !answer("SELECT subs").contains(upper))
        #expect(answer("SELECT SUBS").contains(upper) && !answer("SELECT SUBS").contains(lower))
        #expect(answer("SELECT * FROM cars WHERE m").prefix(2).map(\.text) == ["make", "miles"])
        #expect(answer("SELECT * FROM cars a").prefix(2).map(\.text) == ["as of", "as of commit"])
        #expect(answer("SELECT * FROM cars A").prefix(2).map(\.text) == ["AS OF", "AS OF COMMIT"])
        #expect(answer("SHOW dql_strict").map(\.text) == ["dql_strict_mode"])
        // Without any name, all words are offered.
        let words = answer("SELECT * FROM none WHERE ").map(\.text)
        #expect(words.contains("BETWEEN") && words.contains("substr(") && words.count > 100)
        let statements = answer("").map(\.text)
        #expect(statements.contains("SELECT") && statements.contains("INSERT"))
        #expect(statements == Set(statements).sorted())
        try await store.close()
    }

    @Test func `a quoted name is completed with its backtick, and shown without`() async throws {
        let store = try await scene()
        let answer = StatementCompletion().answer("SELECT * FROM cars WHERE `mi", "", in: store)
        #expect(answer.candidates == [.init("miles`", label: "miles", isComplete: true)])
        let system = StatementCompletion().answer("SELECT * FROM sys", "", in: store)
        #expect(system.candidates == [.init("system:", isComplete: false)])
        try await store.close()
    }

    @Test func `each commit can add names`() async throws {
        let store = try await store("INSERT INTO a DOCUMENTS ({'_id': 1, 'x': 1})")
        let completion = StatementCompletion()
        func names() -> String {
            texts(completion.answer("SELECT * FROM a WHERE ", "", in: store))
        }
        #expect(names() == "_id x" && names() == "_id x")
        try await store.execute("INSERT INTO a DOCUMENTS ({'_id': 2, 'y': 1})")
        #expect(names() == "_id x y")
        #expect(StatementCompletion.collections(of: store) == ["a"])
        #expect(StatementCompletion.collections(of: nil) == [])
        #expect(texts(completion.answer("SELECT * FROM ", "", in: nil)) == "system:")
        try await store.close()
    }

    @Test(arguments: [
        ("", "b A `c` a", "b A `c` a"), ("a", "A ab b Ac", "ab"), ("A", "A ab b Ac", "A Ac"),
        ("aB", "ab AB", "ab AB"), ("c", "`c` d c", "`c` c"), ("C", "`c` D", "`c`"),
        ("`c", "`c` c", "`c`"), ("a", "a b a ab", "a ab"), ("x", "a b", ""),
    ])
    func `candidates begin with the prefix, in its case if some do`(
        _ prefix: String, _ words: String, _ found: String
    ) {
        let candidates = words.split(separator: " ").map {
            StatementCompletion.Candidate(String($0))
        }
        let matching = StatementCompletion.matching(prefix, candidates)
        #expect(matching.map(\.text).joined(separator: " ") == found)
        let quoted = StatementCompletion.matching("c", candidates, isQuoted: true)
        #expect(quoted.allSatisfy { $0.text == "c" })
    }

    // MARK: Samples

    @Test func `a sample counts the fields and their types`() async throws {
        let store = try await store(
            "INSERT INTO t DOCUMENTS ({'_id': 1, 'b': 1, 'a': 'x', 'o': {'two words': 1.5}})",
            "INSERT INTO t DOCUMENTS ({'_id': 2, 'b': 2, 'o': {}, 'c': null})",
            "INSERT INTO t DOCUMENTS ({'_id': 3, 'b': 'x', 'a': true})")
        let sample = try FieldSample(first: 4, of: "t", in: store)
        #expect(sample.documentCount == 3 && !sample.isPartial)
        #expect(
            sample.fields.map { "\($0.spelling) \($0.count) \($0.typeText)" } == [
                "_id 3 integer", "a 2 boolean 50 %, string 50 %",
                "b 3 integer 66 %, string 33 %", "o 2 object", "o.`two words` 1 float", "c 1 null",
            ])
        #expect(sample.fields.map(\.path).contains(["o", "two words"]))
        let two = try FieldSample(first: 2, of: "t", in: store)
        #expect(two.documentCount == 2 && two.isPartial && two.fields.count == 6)
        // Further documents are not excluded.
        #expect(try FieldSample(first: 3, of: "t", in: store).isPartial)
        let system = try FieldSample(first: 5, of: "system:collections", in: store)
        #expect(system.fields.contains { $0.path == ["name"] })
        try await store.close()
    }

    @Test func `a spread sample has ten ranges from the first to the last document`() async throws {
        let store = try await store()
        let documents = (0...100).map { number in
            Value.object(["_id": .integer(Int64(number)), "f\(number)": 1])
        }
        try await store.execute(
            "INSERT INTO t DOCUMENTS (:d)", QueryArguments(["d": .array(documents)]))
        let spread = try FieldSample(spread: 20, of: "t", count: 101, in: store)
        let numbers = (0..<10).flatMap { [11 * $0, 11 * $0 + 1] }
        #expect(spread.documentCount == 20 && spread.isPartial)
        #expect(spread.fields.map(\.spelling) == ["_id"] + numbers.map { "f\($0)" })
        let all = try FieldSample(spread: 101, of: "t", count: 101, in: store)
        #expect(all.documentCount == 101 && !all.isPartial && all.fields.count == 102)
        try await store.close()
    }

    @Test func `a sample has fields up to six objects deep, and up to 2,000`() async throws {
        let store = try await store(
            "INSERT INTO t DOCUMENTS ({'a': {'a': {'a': {'a': {'a': {'a': {'a': {'a': 1}}}}}}}})")
        let sample = try FieldSample(first: 9, of: "t", in: store)
        #expect(sample.fields.map(\.path.count) == [1, 1, 2, 3, 4, 5, 6])
        let many = Object((0..<2_001).map { ("f\($0)", Value.integer(1)) })
        try await store.execute(
            "INSERT INTO u DOCUMENTS (:d)", QueryArguments(["d": .object(many)]))
        let wide = try FieldSample(first: 9, of: "u", in: store)
        #expect(wide.fields.count == 2_000 && wide.documentCount == 1)
        try await store.close()
    }

    @Test(arguments: [
        (0, 0, "100 %"), (5, 5, "100 %"), (0, 5, "<1 %"), (1, 101, "<1 %"), (1, 100, "1 %"),
        (1, 3, "33 %"), (2, 3, "66 %"), (999, 1_000, "99 %"),
    ])
    func `a share is rounded down, but is never nothing`(
        _ part: Int, _ total: Int, _ text: String
    ) {
        #expect(FieldSample.percent(part, of: total) == text)
    }
}
