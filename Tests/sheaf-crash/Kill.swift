import SheafStorage
import SheafTestSupport

/// Kills processes, and looks at what they leave.
enum Kill {
    /// Kills a process under load again and again, and expects its commits each time.
    static func run(rounds roundCount: Int, seed: UInt64) throws -> String {
        let directory = TemporaryDirectory()
        let path = directory.path("store")
        var random = SeededRandom(seed: seed, "kill")
        var rounds = Rounds()
        var openings = 0
        for round in 0..<roundCount {
            let child = try Rounds.start("load", path)
            do {
                if try rounds.watch(child, &random) { openings += 1 }
                child.kill()
                // Whatever it printed before it died was acknowledged.
                _ = try rounds.note(child.remainingLines())
                guard child.wait() == 128 + 9 else {
                    throw CrashFailure("the child ended with \(child.wait())")
                }
                // Every other time the next child is the first to open what this one left.
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

    /// Expects that a second process is told at once who has the store, and gets it when the
    /// first one is killed.
    static func lock() throws -> String {
        let directory = TemporaryDirectory()
        let path = directory.path("store")
        let child = try Rounds.start("hold", path)
        guard child.lines() == ["open"] else { throw CrashFailure("the child has no store") }
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
