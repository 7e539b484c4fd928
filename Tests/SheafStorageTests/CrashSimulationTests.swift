import SheafSimulator
import Testing

/// A share of what `sheaf-simulate` does in release.
@Suite struct CrashSimulationTests {
    private let firstSeed: UInt64 = 9_000

    @Test func `a store that loses its power at any call keeps what it acknowledged`() throws {
        var report = CrashSimulation.Report()
        for seed in firstSeed..<firstSeed + 6 {
            let life = CrashSimulation(seed: seed)
            try life.run()
            report.add(life.report)
        }
        // Every phase is worth a look, also in so few lives.
        for phase in CrashSimulation.Phase.allCases {
            #expect(report.images[phase, default: 0] >= 20, "\(phase.rawValue)")
        }
        #expect(report.verified > 50 && report.replayed > 200)
    }

    @Test func `two lives of one seed are the same, and those of two seeds are not`() throws {
        var digests: [UInt64] = []
        for seed in [firstSeed, firstSeed, firstSeed + 1] {
            let life = CrashSimulation(seed: seed)
            try life.run()
            digests.append(life.report.digest)
        }
        #expect(digests[0] == digests[1])
        #expect(digests[0] != digests[2])
    }
}
