import BenchWorkloads
import Glibc
import SheafDocument
import Testing

/// The values of generators.
@Suite struct GeneratorTests {
    /// Returns `count` values of a generator.
    private func values(_ generator: String, _ count: Int, seed: UInt64 = 5) throws -> [Value] {
        let text = "[mix a]\nstatement = INSERT INTO c DOCUMENTS (:x)\n:x = \(generator)"
        let file = try WorkloadFileParser.parse(text, name: "test")
        var run = GeneratorRun(GeneratorState(file), RandomSource(seed: seed))
        return try (0..<count).map { _ in
            try #require(try run.value(of: file.mix[0].arguments[0].generator))
        }
    }

    private func integers(_ generator: String, _ count: Int) throws -> [Int] {
        try values(generator, count).map { value in
            guard case .integer(let number) = value else { throw Unexpected(value: value) }
            return Int(number)
        }
    }

    private func floats(_ generator: String, _ count: Int) throws -> [Double] {
        try values(generator, count).map { value in
            guard case .float(let number) = value else { throw Unexpected(value: value) }
            return number
        }
    }

    private struct Unexpected: Error { let value: Value }

    @Test func `equal seeds generate equal values, and other seeds others`() throws {
        let generator = #"{"a": uniform(0, 1_000_000), "b": text(20), "c": pick(1, 2, 3)}"#
        let texts = try values(generator, 50).map(\.json)
        #expect(try values(generator, 50).map(\.json) == texts)
        #expect(try values(generator, 50, seed: 6).map(\.json) != texts)
        #expect(Set(texts).count == 50)
    }

    @Test func `a sequence counts from its start in its steps`() throws {
        #expect(try integers("sequence", 3) == [0, 1, 2])
        #expect(try integers("sequence(5)", 2) == [5, 6])
        #expect(try integers("sequence(10, -3)", 3) == [10, 7, 4])
    }

    @Test func `uniform numbers include both bounds, each equally often`() throws {
        let numbers = try integers("uniform(-2, 2)", 10_000)
        for number in -2...2 {
            let count = numbers.count { $0 == number }
            #expect((1_800...2_200).contains(count), "\(number) occurs \(count) times")
        }
        #expect(numbers.allSatisfy { (-2...2).contains($0) })
    }

    @Test func `numbers have as many decimals as their bounds`() throws {
        let numbers = try floats("uniform(0.50, 9)", 1_000)
        #expect(numbers.allSatisfy { (0.5...9).contains($0) && ($0 * 100).rounded() / 100 == $0 })
        #expect(numbers.contains { ($0 * 10).rounded() / 10 != $0 })
    }

    @Test func `normal numbers have their mean and deviation`() throws {
        let numbers = try floats("normal(20.000, 3.000)", 20_000)
        let mean = numbers.reduce(0, +) / Double(numbers.count)
        let variance = numbers.reduce(0) { $0 + ($1 - mean) * ($1 - mean) } / Double(numbers.count)
        #expect(abs(mean - 20) < 0.15)
        #expect(abs(variance.squareRoot() - 3) < 0.15)
        let near = numbers.count { abs($0 - 20) < 3 }
        #expect((13_200...14_100).contains(near), "\(near) of 20,000 are within one deviation")
        #expect(try integers("normal(5, 1)", 10).allSatisfy { (-5...15).contains($0) })
    }

    @Test(arguments: [0.5, 0.99, 1.0, 2.0])
    func `ranks have the frequencies of Zipf's law`(_ exponent: Double) throws {
        let count = 100_000
        var found = Array(repeating: 0, count: 50)
        for rank in try integers("zipf(50, \(exponent))", count) { found[rank] += 1 }
        let power = (1...50).map { pow(Double($0), -exponent) }
        let sum = power.reduce(0, +)
        for rank in [0, 1, 2, 9, 49] {
            let expected = power[rank] / sum * Double(count)
            let tolerance = 5 * expected.squareRoot() + 1
            #expect(
                abs(Double(found[rank]) - expected) < tolerance,
                "rank \(rank) occurs \(found[rank]) times, expected \(expected)")
        }
    }

    @Test func `choices have their weights`() throws {
        let picked = try values(#"pick("a", "b", "c", "d")"#, 8_000)
        for name in ["a", "b", "c", "d"] {
            let count = picked.count { $0 == .string(name) }
            #expect((1_850...2_150).contains(count))
        }
        let weighted = try values(#"weighted(7, "often", 3, "seldom")"#, 10_000)
        let often = weighted.count { $0 == "often" }
        #expect((6_800...7_200).contains(often))
        let flags = try values("chance(0.2)", 10_000).count { $0 == true }
        #expect((1_850...2_150).contains(flags))
    }

    @Test func `texts and arrays have lengths within their bounds`() throws {
        let texts = try values("text(3, 6)", 500).map { $0.json.count - 2 }
        #expect(Set(texts) == [3, 4, 5, 6])
        #expect(try values("hex(40)", 1)[0].json.count == 42)
        let arrays = try values("repeat(0, 2, sequence)", 200)
        let counts = arrays.map { value -> Int in
            guard case .array(let elements) = value else { return -1 }
            return elements.count
        }
        #expect(Set(counts) == [0, 1, 2])
    }

    @Test func `a field of maybe is missing in the other cases`() throws {
        let objects = try values(#"{"a": 1, "b": maybe(0.25, 2)}"#, 4_000)
        let count = objects.count { $0["b"] == 2 }
        #expect((880...1_120).contains(count))
        #expect(objects.allSatisfy { $0["a"] == 1 })
        #expect(objects.contains { $0["b"] == nil })
    }

    @Test func `times are within their range, and clocks advance`() throws {
        let times = try values(#"time("2026-01-01", "2026-01-02")"#, 200).map(\.json)
        #expect(times.allSatisfy { $0 >= "\"2026-01-01" && $0 < "\"2026-01-03" })
        #expect(Set(times).count > 190)
        let clock = try values(#"clock("2026-01-01T00:00:59Z", "500ms")"#, 3).map(\.json)
        #expect(clock[0].hasPrefix("\"2026-01-01T00:00:59"))
        #expect(clock[2].hasPrefix("\"2026-01-01T00:01:00"))
    }

    @Test func `a joined text contains its parts`() throws {
        #expect(try values(#"join("car-", sequence(7), "-", true)"#, 1) == ["car-7-true"])
    }

    // MARK: IDs

    private func file(_ option: String = "") throws -> WorkloadFile {
        try WorkloadFileParser.parse(
            """
            [setup a]
            statement = INSERT INTO c DOCUMENTS (:d)
            :d = {"_id": new_id("c"\(option))}
            [mix get]
            statement = SELECT * FROM c WHERE _id = :id
            :id = id("c")
            [mix popular]
            statement = SELECT * FROM c WHERE _id = :id
            :id = id("c", "zipf")
            [mix recent]
            statement = SELECT * FROM c WHERE _id = :id
            :id = id("c", "newest")
            [mix remove]
            statement = DELETE FROM c WHERE _id = :id
            :id = oldest_id("c")
            """, name: "test")
    }

    @Test func `only IDs of inserted documents are chosen`() throws {
        let file = try file()
        let state = GeneratorState(file)
        var run = GeneratorRun(state, RandomSource(seed: 1))
        let (new, get) = (file.setup[0].arguments[0].generator, file.mix[0].arguments[0].generator)
        #expect(throws: GeneratorState.Failure.self) { try run.value(of: get) }
        let first = try #require(try run.value(of: new)?["_id"])
        let firstID = run.takeNewIDs()
        let second = try #require(try run.value(of: new)?["_id"])
        let secondID = run.takeNewIDs()
        // The second document is inserted first, but not chosen while the first one is missing.
        state.finish(secondID)
        #expect(throws: GeneratorState.Failure.self) { try run.value(of: get) }
        state.finish(firstID)
        let chosen = try Set((0..<100).compactMap { _ in try run.value(of: get)?.json })
        #expect(chosen == [first.json, second.json])
    }

    @Test func `the oldest ID is returned once, and not chosen again`() throws {
        let file = try file(", \"rising\"")
        let state = GeneratorState(file)
        var run = GeneratorRun(state, RandomSource(seed: 1))
        var ids: [String] = []
        for _ in 0..<5 {
            ids.append(
                try #require(try run.value(of: file.setup[0].arguments[0].generator)?["_id"]).json)
        }
        #expect(ids == ids.sorted() && Set(ids).count == 5)
        state.finish(run.takeNewIDs())
        let oldest = file.mix[3].arguments[0].generator
        #expect(try run.value(of: oldest)?.json == ids[0])
        #expect(try run.value(of: oldest)?.json == ids[1])
        for step in 0..<3 {
            let generator = file.mix[step].arguments[0].generator
            let chosen = try Set((0..<300).compactMap { _ in try run.value(of: generator)?.json })
            #expect(chosen == Set(ids[2...]))
        }
        for _ in 0..<3 { _ = try run.value(of: oldest) }
        #expect(throws: GeneratorState.Failure.self) { try run.value(of: oldest) }
    }

    @Test func `popular IDs are the first ones, and recent IDs the last ones`() throws {
        let file = try file(", \"rising\"")
        let state = GeneratorState(file)
        var run = GeneratorRun(state, RandomSource(seed: 1))
        for _ in 0..<1_000 { _ = try run.value(of: file.setup[0].arguments[0].generator) }
        state.finish(run.takeNewIDs())
        func share(_ step: Int, _ isCounted: (String) -> Bool) throws -> Int {
            let generator = file.mix[step].arguments[0].generator
            return try (0..<1_000).count { _ in
                isCounted(try #require(try run.value(of: generator)).json)
            }
        }
        let (early, late) = ("\"0000000000000100\"", "\"0000000000000900\"")
        #expect((60...140).contains(try share(0) { $0 < early }))
        #expect(try share(1) { $0 < early } > 500)
        #expect(try share(2) { $0 >= late } > 500)
    }
}
