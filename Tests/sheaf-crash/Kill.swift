import SheafStorage
import SheafSystem
import SheafTestSupport

/// Process kills under load.
enum Kill {
    /// Kills a process under load `roundCount` times, and verifies its acknowledged commits.
    static func run(rounds roundCount: Int, seed: UInt64) throws -> String {
        let directory = TemporaryDirectory()
        let path = directory.path("store")
        var random = SeededRandom(seed: seed, "kill")
        var rounds = KillRounds()
        var openings = 0
        for round in 0..<roundCount {
            let child = try KillRounds.start("load", path)
            do {
                if try rounds.readOutput(child, &random) { openings += 1 }
                child.kill()
                // All commits that the child printed before it died were acknowledged.
                _ = try rounds.record(child.remainingLines())
                guard child.wait() == 128 + 9 else {
                    throw CrashFailure("the child ended with \(child.wait())")
                }
                // In every other round the next child is the first to recover the store.
                if round % 2 == 0 || round == roundCount - 1 {
                    try rounds.check(path)
                } else {
                    rounds.skipCheck()
                }
            } catch {
                throw CrashFailure("seed \(seed), round \(round): \(error)")
            }
        }
        return "\(roundCount) kills, \(openings) of them after the store was open; "
            + "\(rounds.total) acknowledged commits, 0 lost"
    }

    /// Verifies that a second process fails immediately with the lock holder's process ID.
    ///
    /// After the first process is killed, the store can be opened.
    static func lock() throws -> String {
        let directory = TemporaryDirectory()
        let path = directory.path("store")
        let child = try KillRounds.start("hold", path)
        guard child.lines() == ["open"] else { throw CrashFailure("the child opened no store") }
        let started = Clock.system.monotonicNanoseconds()
        var refusal: StorageError?
        do throws(StorageError) {
            _ = try LogStore.open(at: path)
        } catch {
            refusal = error
        }
        let milliseconds = Double(Clock.system.monotonicNanoseconds() - started) / 1e6
        guard let refusal, refusal == .locked(path: path, holder: child.identifier) else {
            throw CrashFailure("the second process got \(refusal.map { "\($0)" } ?? "the store")")
        }
        guard milliseconds < 100 else {
            throw CrashFailure("the refusal took \(milliseconds) ms")
        }
        child.kill()
        _ = child.wait()
        try LogStore.open(at: path).close()
        return "refused after \(Int(milliseconds * 1_000)) us: \(refusal)"
    }
}
