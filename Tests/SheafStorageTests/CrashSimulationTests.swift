import SheafSimulator
import Testing

/// A share of what `sheaf-simulate` does in release.
@Suite struct CrashSimulationTests {
    private let firstSeed: UInt64 = 9_000

    @Test func `a store that loses its power at any call keeps what it acknowledged`() throws {
        var report = CrashSimulation.Report()
        var digests: [UInt64] = []
        // The last life once more: two of one seed are the same.
        for seed in [0, 1, 2, 3, 4, 5, 5].map({ firstSeed + $0 }) {
            let life = CrashSimulation(seed: seed)
            try life.run()
            report.add(life.report)
            digests.append(life.report.digest)
        }
        // Every phase is worth a look, also in so few lives.
        for phase in CrashSimulation.Phase.allCases {
            #expect(report.images[phase, default: 0] >= 20, "\(phase.rawValue)")
        }
        #expect(report.verified > 50 && report.replayed > 200)
        #expect(digests[5] == digests[6])
        #expect(Set(digests).count == 6)
    }
}
