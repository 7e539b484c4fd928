import SheafMesh
import SheafStorage

/// What a peer with limited rights receives, with and without what it may not read.
enum WorldsCommand {
    /// Runs pairs of worlds from a seed on; returns an exit code.
    static func run(_ count: Int, from seed: UInt64, _ say: (String) -> Void) -> Int32 {
        var report = TwoWorlds.Report()
        for number in seed..<seed + UInt64(count) {
            do {
                let worlds = try TwoWorlds(seed: number)
                try worlds.run(actions: 200)
                report.add(worlds.report)
            } catch {
                say("violation: \(error)\nto see it again: sheaf-mesh --seed \(number) --worlds 1")
                return 1
            }
        }
        say(
            "\(count) pairs of worlds, \(report.actions) actions, \(report.hiddenCommits) hidden commits, "
                + "\(report.attempts) attempts, \(report.frames) frames")
        say("0 violations")
        return 0
    }

    /// Attacks for `minutes`, and with at least `subscriptions` subscriptions; returns an exit
    /// code.
    static func attack(
        minutes: Int, subscriptions: Int, seed: UInt64, _ say: (String) -> Void
    ) -> Int32 {
        let end =
            Clock.system.monotonicNanoseconds() + UInt64(minutes) * 60 * 1_000_000_000
        var (count, frames, accepted, proofs) = (0, 0, 0, 0)
        var number = seed
        do {
            while count < subscriptions || Clock.system.monotonicNanoseconds() < end {
                // A server keeps what was written, so now and then there is another one.
                let attack = try HiddenDataAttack(seed: number)
                if let difference = try attack.run(subscriptions: 500) {
                    say("violation: \(difference), seed \(number)")
                    return 1
                }
                count += 500
                frames += attack.frameCount
                accepted += attack.acceptedCount
                proofs += attack.proofCount
                number += 1
            }
        } catch {
            say("violation: \(error), seed \(number)")
            return 1
        }
        say(
            "\(count) subscriptions, \(accepted) of them answered, \(proofs) parts of files asked for, "
                + "\(frames) frames, the same with and without the hidden data")
        return 0
    }
}
