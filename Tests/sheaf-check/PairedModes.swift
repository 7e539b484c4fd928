import SheafMesh
import SheafStorage
import SheafSystem

/// The modes of `sheaf-check mesh` that compare frames with and without hidden documents.
enum PairedModes {
    /// Runs pairs of simulations, starting at a seed; returns an exit code.
    static func run(_ count: Int, from seed: UInt64) -> Int32 {
        var report = PairedSimulations.Report()
        for number in seed..<seed + UInt64(count) {
            do {
                let simulations = try PairedSimulations(seed: number)
                try simulations.run(actions: 200)
                report.add(simulations.report)
            } catch {
                printLine(
                    "violation: \(error)\nto reproduce: sheaf-check mesh --seed \(number) --paired 1"
                )
                return CheckExitCode.failed
            }
        }
        printLine(
            "\(count) pairs of simulations, \(report.actions) actions, "
                + "\(report.hiddenCommits) hidden commits, \(report.attempts) attempts, \(report.frames) frames"
        )
        printLine("0 violations")
        return CheckExitCode.passed
    }

    /// Attacks for `minutes`, with at least `subscriptions` subscriptions; returns an exit code.
    static func attack(
        minutes: Int, subscriptions: Int, seed: UInt64
    ) -> Int32 {
        let end =
            Clock.system.monotonicNanoseconds() + UInt64(minutes) * 60 * 1_000_000_000
        var (count, frames, accepted, proofs) = (0, 0, 0, 0)
        var number = seed
        do {
            while count < subscriptions || Clock.system.monotonicNanoseconds() < end {
                // A server keeps all written documents, so it is replaced after 500 subscriptions.
                let attack = try HiddenDataAttack(seed: number)
                if let difference = try attack.run(subscriptions: 500) {
                    printLine("violation: \(difference), seed \(number)")
                    return CheckExitCode.failed
                }
                count += 500
                frames += attack.frameCount
                accepted += attack.acceptedCount
                proofs += attack.proofCount
                number += 1
            }
        } catch {
            printLine("violation: \(error), seed \(number)")
            return CheckExitCode.failed
        }
        printLine(
            "\(count) subscriptions, \(accepted) of them answered, "
                + "\(proofs) proofs of files requested; "
                + "\(frames) frames are equal with and without hidden data")
        return CheckExitCode.passed
    }
}
