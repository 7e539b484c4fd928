import SheafStorage
import SheafTestSupport

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Lets processes run out of memory, and looks at what they leave.
///
/// Swift cannot go on where memory is refused: the process ends. What had been acknowledged must
/// be there nevertheless.
enum Starvation {
    /// A child that is silent for so long hangs, instead of ending.
    private static let patienceNanoseconds: UInt64 = 60_000_000_000

    /// Why nothing can be starved here; none where it can.
    static var obstacle: String? {
        #if os(Linux)
            let isVast = ((try? AddressSpace.used()) ?? .max) > 1 << 40
            return isVast ? "the address space is that of a sanitizer" : nil
        #else
            return "only Linux holds processes to a limit of their address space"
        #endif
    }

    /// Starves a process under load again and again, and expects its commits each time.
    static func run(rounds roundCount: Int, seed: UInt64) throws -> String {
        // To tell of each crash at length would take longer than the crashes.
        setenv("SWIFT_BACKTRACE", "enable=no", 1)
        let directory = TemporaryDirectory()
        let path = directory.path("store")
        var random = SeededRandom(seed: seed, "memory")
        var rounds = Rounds()
        var (signals, errors, openings) = (0, 0, 0)
        for round in 0..<roundCount {
            // The first opening is of nothing, and every fourth is starved itself.
            let isOpening = round % 4 == 3
            let hoard = random.chance(1, in: 2) ? Hoard.bytes : .snapshots
            // Two threads take 8 MiB, which an opening needs.
            let room = isOpening ? random.below(12 << 20) : (1 << 20) + random.below(2 << 20)
            do {
                let child =
                    isOpening
                    ? try Rounds.start("open", path, "\(room)")
                    : try Rounds.start("starve", path, "\(room)", hoard.rawValue)
                let refusals = try watch(child, &rounds)
                let status = child.wait()
                switch status {
                case 0 where isOpening: openings += 1
                case 0: throw CrashFailure("the child ended as if there were memory")
                case 1:
                    guard refusals.contains(where: isClear) else {
                        throw CrashFailure("the child does not tell what it lacks: \(refusals)")
                    }
                    errors += 1
                case 129...: signals += 1
                default: throw CrashFailure("the child ended with \(status): \(refusals)")
                }
                try verify(path)
                try rounds.check(path)
            } catch {
                throw CrashFailure("seed \(seed), round \(round), room \(room), \(hoard): \(error)")
            }
        }
        return "\(roundCount) processes with too little memory: \(signals) ended by a signal, "
            + "\(errors) with an error, \(openings) opened the store with it; "
            + "\(rounds.total) acknowledged commits, 0 lost"
    }

    /// Reads what a child prints until it ends; returns why it was refused something.
    private static func watch(_ child: ChildProcess, _ rounds: inout Rounds) throws -> [String] {
        var refusals: [String] = []
        while true {
            let deadline = Clock.system.monotonicNanoseconds() + patienceNanoseconds
            guard let lines = child.lines(until: deadline) else { return refusals }
            guard !lines.isEmpty else { throw CrashFailure("a child hangs") }
            refusals += lines.filter { $0.contains("failed: ") }
            _ = try rounds.note(lines.filter { !$0.contains("failed: ") })
        }
    }

    /// Whether somebody who reads that knows what is missing: memory, or room for a thread.
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

/// What a process keeps for as long as it lives, so that it runs out of memory.
enum Hoard: String {
    /// Bytes that have nothing to do with the store.
    case bytes
    /// States of the store, with what they hold on to.
    case snapshots
}
