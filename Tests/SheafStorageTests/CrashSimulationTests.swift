import SheafSimulator
import Testing

/// A sample of the runs of `sheaf-check simulate`, of which `.ci/run` runs more, with all images.
@Suite struct CrashSimulationTests {
    private let firstSeed: UInt64 = 9_040

    @Test func `a store that loses power at any call keeps its acknowledged commits`() throws {
        var report = CrashSimulation.Report()
        var digests: [UInt64] = []
        // The last seed is run twice to verify that runs are deterministic.
        for seed in [0, 1, 2, 3, 3].map({ firstSeed + $0 }) {
            let simulation = CrashSimulation(seed: seed)
            try simulation.run()
            report.add(simulation.report)
            digests.append(simulation.report.digest)
        }
        // Even these few runs cover every phase.
        for phase in CrashSimulation.Phase.allCases {
            #expect(report.images[phase, default: 0] >= 20, "\(phase.rawValue)")
        }
        #expect(report.verified > 30 && report.replayed > 100)
        #expect(report.openedReaders > 50)
        #expect(report.refreshes > 500)
        #expect(report.reloads > 0)
        #expect(report.stagedCommits > 10)
        #expect(digests[3] == digests[4])
        #expect(Set(digests).count == 4)
    }
}
