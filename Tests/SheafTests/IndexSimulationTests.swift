import Sheaf
import SheafDocument
import SheafEngine
import SheafQuery
import SheafStorage
import SheafTestSupport
import Testing

/// Stores with indexes under random operations and power cuts.
@Suite struct IndexSimulationTests {
    @Test(arguments: 31_000..<31_004 as Range<UInt64>)
    func `indexes match their documents after random operations`(_ seed: UInt64) throws {
        let clock = FakeClock()
        let simulations = [
            try IndexSimulation(seed: seed * 2, clock),
            try IndexSimulation(seed: seed * 2 + 1, clock),
        ]
        var random = SeededRandom(seed: seed, "lives of indexes")
        for step in 0..<140 {
            let number = random.below(2)
            let simulation = simulations[number]
            try simulation.step([simulations[1 - number]])
            let comment: Comment = "seed \(seed), step \(step), store \(number)"
            if random.chance(1, in: 2) { try simulation.check(comment) }
            if random.chance(1, in: 6) {
                try simulation.checkImage(simulation.volume.powerCut(seed: random.next()), comment)
            }
        }
        for simulation in simulations {
            try simulation.check("seed \(seed), at the end")
            #expect(simulation.entries[.complete] ?? 0 > 100, "seed \(seed)")
            #expect(simulation.tombstoneCount > 100, "seed \(seed)")
            #expect(simulation.versionCount > 100, "seed \(seed)")
            #expect(simulation.indexedVersionCount > 100, "seed \(seed)")
        }
    }

    @Test func `the Python reader reads stores with indexes`() throws {
        let simulation = try IndexSimulation(seed: 33_000, FakeClock())
        var expected: [String] = []
        try simulation.createIndex("caf\u{E9}", on: "cars", [.init(["a"])])
        for number: Int64 in 0..<20 {
            let object: Object = ["a": .integer(number % 5), "b": .string("text")]
            try simulation.commit([
                DocumentChange("cars", .integer(number), .insert(object, onConflict: .fail))
            ])
            expected.append("document \"cars\" \(number) \(Value.object(object).json)")
        }
        try simulation.createIndex("by b", on: "cars", [.init(["b", "x"], isDescending: true)])
        try simulation.dropIndex("caf\u{E9}", on: "cars")
        try simulation.store.writeCheckpoint()
        try simulation.store.close()
        let directory = TemporaryDirectory()
        try simulation.volume.export(to: directory.path("store"))
        let run = try FormatReaderRun(directory.path("store"), options: ["--documents"])
        #expect(run.status == 0, "\(run.errors)")
        #expect(run.lines.contains { $0.hasPrefix("checkpoint ") && $0.hasSuffix(" right") })
        #expect(run.lines.filter { $0.hasPrefix("document ") } == expected)
    }

    @Test func `indexes match their documents after a power cut`() throws {
        var images = 0
        for seed: UInt64 in 32_000..<32_003 {
            var random = SeededRandom(seed: seed, "cuts of indexes")
            var call = 1
            while true {
                let clock = FakeClock()
                var simulation: IndexSimulation?
                do {
                    let begun = try IndexSimulation(seed: seed, clock)
                    simulation = begun
                    begun.volume.crashAtCall(call)
                    for _ in 0..<40 { try begun.step([]) }
                    break
                } catch {}
                let cut = try #require(simulation)
                try cut.checkImage(
                    cut.volume.powerCut(seed: random.next()), "seed \(seed), call \(call)")
                images += 1
                call += 1 + random.below(6)
            }
        }
        #expect(images > 40, "\(images)")
    }
}
