import SheafMesh
import Testing

/// The frames received by a peer with limited rights, with and without unreadable documents.
///
/// `sheaf-check mesh --paired` and `--attack` run longer.
@Suite struct HiddenDataTests {
    @Test func `every frame depends only on documents that the peer may read`() throws {
        let seed = UInt64.random(in: 0..<1_000_000_000)
        print("paired simulations, seed \(seed)")
        var report = PairedSimulations.Report()
        for number in seed..<seed + 40 {
            let simulations = try PairedSimulations(seed: number)
            do { try simulations.run(actions: 60) } catch {
                Issue.record("seed \(number): \(error)")
                return
            }
            report.add(simulations.report)
        }
        #expect(report.frames > 2_000 && report.hiddenCommits > 400 && report.attempts > 100)
    }

    @Test func `an attacker learns nothing about a hidden number, word, id, count or file`() throws
    {
        let seed = UInt64.random(in: 0..<1_000_000_000)
        print("attack, seed \(seed)")
        let attack = try HiddenDataAttack(seed: seed)
        var found = try attack.run(subscriptions: 150)
        // With some seeds, the first of them hardly ask for files.
        for _ in 0..<20 where found == nil && attack.proofCount <= 5 {
            found = try attack.run(subscriptions: 50)
        }
        #expect(found == nil, "seed \(seed)")
        #expect(attack.frameCount > 300)
        #expect(attack.acceptedCount > 75 && attack.proofCount > 5)
    }
}
