import SheafStorage
import SheafSystem
import SheafTestSupport

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Processes under load that run out of memory.
///
/// Swift traps if an allocation fails, so the process dies; acknowledged commits must survive.
enum MemoryExhaustion {
    /// A child without output for this time is considered hung.
    private static let patienceNanoseconds: UInt64 = 60_000_000_000

    /// Reason why memory cannot be limited on this machine; nil if it can.
    static var unavailableReason: String? {
        #if os(Linux)
            let isVast = ((try? AddressSpace.used()) ?? .max) > 1 << 40
            return isVast ? "a sanitizer reserves too much address space" : nil
        #else
            return "only Linux enforces an address space limit"
        #endif
    }

    /// Runs a process out of memory `roundCount` times, and verifies its acknowledged commits.
    static func run(rounds roundCount: Int, seed: UInt64) throws -> String {
        // Printing backtraces of the crashes would take longer than the test.
        setenv("SWIFT_BACKTRACE", "enable=no", 1)
        let directory = TemporaryDirectory()
        let path = directory.path("store")
        var random = SeededRandom(seed: seed, "memory")
        var rounds = KillRounds()
        var (signals, errors, openings) = (0, 0, 0)
        for round in 0..<roundCount {
            // Every fourth child runs out of memory while it opens the store.
            let isOpening = round % 4 == 3
            let memoryUse = round % 2 == 0 ? MemoryUse.bytes : .snapshots
            // Opening a store needs 8 MiB for two thread stacks.
            let room = isOpening ? random.below(12 << 20) : (1 << 20) + random.below(2 << 20)
            do {
                let child =
                    isOpening
                    ? try KillRounds.start("open", path, "\(room)")
                    : try KillRounds.start("starve", path, "\(room)", memoryUse.rawValue)
                let refusals = try readOutput(child, &rounds)
                let status = child.wait()
                switch status {
                case 0 where isOpening: openings += 1
                case 0: throw CrashFailure("the child did not run out of memory")
                case 1:
                    guard refusals.contains(where: isClear) else {
                        throw CrashFailure("unclear error messages: \(refusals)")
                    }
                    errors += 1
                case 129...: signals += 1
                default: throw CrashFailure("the child ended with \(status): \(refusals)")
                }
                try verify(path)
                try rounds.check(path)
            } catch {
                throw CrashFailure(
                    "seed \(seed), round \(round), room \(room), \(memoryUse): \(error)")
            }
        }
        return "\(roundCount) processes with too little memory: \(signals) killed by a signal, "
            + "\(errors) with an error, \(openings) opened the store; "
            + "\(rounds.total) acknowledged commits, 0 lost"
    }

    /// Reads the output of a child until it exits; returns its error messages.
    private static func readOutput(_ child: ChildProcess, _ rounds: inout KillRounds) throws
        -> [String]
    {
        var refusals: [String] = []
        while true {
            let deadline = Clock.system.monotonicNanoseconds() + patienceNanoseconds
            guard let lines = child.lines(until: deadline) else { return refusals }
            guard !lines.isEmpty else { throw CrashFailure("a child hangs") }
            refusals += lines.filter { $0.contains("failed: ") }
            _ = try rounds.record(lines.filter { !$0.contains("failed: ") })
        }
    }

    /// Whether an error message names the missing resource: memory or a thread.
    private static func isClear(_ refusal: String) -> Bool {
        refusal.contains("\(String(cString: strerror(ENOMEM)))")
            || refusal.contains("\(String(cString: strerror(EAGAIN)))")
    }

    private static func verify(_ path: String) throws {
        let found = try Verifier.verify(try ReadOnlyVolume.open(at: path))
        guard !found.isDamaged else {
            throw CrashFailure("the store is damaged: \(found.findings)")
        }
    }
}

/// Memory that a process retains until it runs out of memory.
enum MemoryUse: String {
    /// Byte arrays unrelated to the store.
    case bytes
    /// Snapshots, with the pages they retain.
    case snapshots
}
