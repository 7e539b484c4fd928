import SheafStorage
import SheafSystem
import SheafTestSupport
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Exits the process.
package func exitProcess(_ code: Int32) -> Never {
    exit(code)
}

/// The `sheaf-simulate` command, which runs any number of simulations.
package enum SimulationCommand {
    private static let usage = """
        usage: sheaf-simulate [crashes] [--images N | --lives N] [--seed S] [--threads T]
               sheaf-simulate flips | truncations | blocks | faults | quotas
                              [--seed S] [--threads T] [--stride N] [--bytes N]

        """

    struct Options {
        var images = 1_000_000
        var lives: Int?
        var threads = 2
        var seed = OperatingSystem.randomInteger() % 1_000_000_000
        var stride = 1
        var byteCount = 256 << 10
    }

    /// Runs the command; returns its exit code: 1 for a violation, 64 for invalid usage.
    package static func run(_ arguments: [String]) -> Int32 {
        var options = Options()
        var rest = arguments[...]
        var name = "crashes"
        if let first = rest.first, !first.hasPrefix("--") {
            name = first
            rest.removeFirst()
        }
        while let option = rest.popFirst() {
            guard let value = rest.popFirst().flatMap({ UInt64($0) }) else {
                return complain("\(option) requires a number")
            }
            switch option {
            case "--images": options.images = Int(clamping: value)
            case "--lives": options.lives = Int(clamping: value)
            case "--threads": options.threads = max(1, Int(clamping: value))
            case "--seed": options.seed = value
            case "--stride": options.stride = max(1, Int(clamping: value))
            case "--bytes": options.byteCount = Int(clamping: value)
            default: return complain("unknown option \(option)")
            }
        }
        // The seed is printed first, in case the run crashes.
        write("sheaf-simulate \(name), seed \(options.seed)\n", to: 2)
        do {
            switch name {
            case "crashes": try crashes(options)
            case "flips": try sweep(options) { try $0.flip($1) }
            case "truncations": try sweep(options) { try $0.truncate($1) }
            case "blocks": try blocks(options)
            case "faults": try faults(options)
            case "quotas": try quotas(options)
            default: return complain("unknown command \(name)")
            }
            return 0
        } catch {
            write("violation: \(error)\n", to: 1)
            return 1
        }
    }

    // MARK: Simulations

    private static func crashes(_ options: Options) throws {
        let report = Mutex(CrashSimulation.Report())
        let started = Clock.system.monotonicNanoseconds()
        let violation = each(of: options.lives ?? .max, on: options.threads) { index in
            guard options.lives != nil || report.withLock({ $0.total < options.images }) else {
                return false
            }
            let simulation = CrashSimulation(
                seed: options.seed &+ UInt64(index), isTraced: options.lives == 1)
            defer {
                let partial = simulation.report
                report.withLock { $0.add(partial) }
            }
            try simulation.run()
            return true
        }
        let seconds = Double(Clock.system.monotonicNanoseconds() - started) / 1e9
        let sum = report.withLock { $0 }
        for phase in CrashSimulation.Phase.allCases {
            write("\(sum.images[phase] ?? 0)\t\(phase.rawValue)\n", to: 1)
        }
        let rate = Int(Double(sum.total) / max(seconds, 1e-9))
        write(
            "\(sum.total) images of \(sum.runs) runs with \(sum.commits) commits, "
                + "\(sum.verified) verified, \(sum.replayed) replayed\n"
                + "digest \(String(sum.digest, radix: 16))\n", to: 1)
        write("\(rate) images per second\n", to: 2)
        if let violation { throw violation }
        write(
            "0 violations, seeds \(options.seed)...\(options.seed + UInt64(sum.runs) - 1)\n", to: 1)
    }

    private static func sweep(
        _ options: Options,
        _ damage: @escaping @Sendable (DamageSweep, Int) throws -> DamageSweep.Outcome
    ) throws {
        for ending in ReferenceStore.Ending.allCases {
            let store = try ReferenceStore(
                seed: options.seed, ending: ending, byteCount: options.byteCount)
            let sweep = DamageSweep(store, seed: options.seed)
            let tally = Mutex(DamageSweep.Tally())
            let chunk = 1_000
            let violation = each(
                of: (store.byteCount + chunk - 1) / chunk, on: options.threads
            ) { number in
                var found = DamageSweep.Tally()
                let end = min((number + 1) * chunk, store.byteCount)
                for index in stride(from: number * chunk, to: end, by: options.stride) {
                    found.add(try damage(sweep, index))
                }
                let sum = found
                tally.withLock { $0.add(sum) }
                return true
            }
            let sum = tally.withLock { $0 }
            write(
                "\(ending.rawValue) store, \(store.names.count) files, "
                    + "\(store.byteCount) bytes: \(describe(sum))\n", to: 1)
            if let violation { throw violation }
        }
        write("0 undetected errors\n", to: 1)
    }

    private static func blocks(_ options: Options) throws {
        for ending in ReferenceStore.Ending.allCases {
            let store = try ReferenceStore(
                seed: options.seed, ending: ending, byteCount: options.byteCount)
            let other = try ReferenceStore(
                seed: options.seed &+ 1, ending: ending, byteCount: options.byteCount)
            let twin = try ReferenceStore(
                seed: options.seed, ending: ending, byteCount: options.byteCount, life: 1)
            let tallies = try DamageSweep(store, seed: options.seed).damageBlocks(
                other: other, twin: twin, stride: options.stride)
            for (kind, tally) in tallies.sorted(by: { $0.key < $1.key }) {
                write("\(ending.rawValue) store, \(kind): \(describe(tally))\n", to: 1)
            }
        }
        write("0 undetected errors\n", to: 1)
    }

    private static func faults(_ options: Options) throws {
        let sweep = FaultSweep(seed: options.seed)
        let (calls, _) = try sweep.measure()
        let cases = FaultSweep.cases(calls: calls)
        let errors = Mutex(0)
        let violation = each(of: cases.count / options.stride, on: options.threads) { index in
            let count = try sweep.run(cases[index * options.stride])
            errors.withLock { $0 += count }
            return true
        }
        if let violation { throw violation }
        write(
            "\(calls) calls, \(cases.count / options.stride) failures, "
                + "\(errors.withLock { $0 }) typed errors, 0 acknowledged commits lost\n", to: 1)
    }

    private static func quotas(_ options: Options) throws {
        let sweep = FaultSweep(seed: options.seed)
        let (_, bytes) = try sweep.measure()
        let step = max(8, options.stride)
        let errors = Mutex(0)
        let violation = each(of: bytes / step, on: options.threads) { index in
            let count = try sweep.run(quota: index * step)
            errors.withLock { $0 += count }
            return true
        }
        if let violation { throw violation }
        write(
            "\(bytes / step) full disks, \(errors.withLock { $0 }) typed errors, "
                + "0 acknowledged commits lost\n", to: 1)
    }

    // MARK: Helpers

    /// Runs `body` for each number below `count` until it returns false or throws.
    ///
    /// Returns the first violation.
    private static func each(
        of count: Int, on threadCount: Int, _ body: @escaping @Sendable (Int) throws -> Bool
    ) -> Violation? {
        let progress = EachProgress()
        let threads = (0..<threadCount).compactMap { number in
            try? Thread(name: "simulate-\(number)") {
                while let index = progress.next(below: count) {
                    do {
                        if try !body(index) { return }
                    } catch {
                        progress.stop(error as? Violation ?? Violation("\(error)"))
                    }
                }
            }
        }
        for thread in threads { thread.join() }
        return progress.violation
    }

    private final class EachProgress: Sendable {
        private let state = Mutex((next: 0, violation: Violation?.none))

        var violation: Violation? { state.withLock { $0.violation } }

        func next(below count: Int) -> Int? {
            state.withLock { state in
                guard state.violation == nil, state.next < count else { return nil }
                defer { state.next += 1 }
                return state.next
            }
        }

        func stop(_ violation: Violation) {
            state.withLock { $0.violation = $0.violation ?? violation }
        }
    }

    private static func describe(_ tally: DamageSweep.Tally) -> String {
        DamageSweep.Outcome.allCases.map { "\(tally.counts[$0] ?? 0) \($0.rawValue)" }
            .joined(separator: ", ")
    }

    private static func complain(_ message: String) -> Int32 {
        write("sheaf-simulate: \(message)\n" + usage, to: 2)
        return 64
    }

    /// Writes without buffering, so that no output is lost in a crash.
    package static func write(_ text: String, to descriptor: Int32) {
        _ = text.utf8.withContiguousStorageIfAvailable { bytes in
            #if canImport(Glibc)
                Glibc.write(descriptor, bytes.baseAddress, bytes.count)
            #elseif canImport(Musl)
                Musl.write(descriptor, bytes.baseAddress, bytes.count)
            #else
                Darwin.write(descriptor, bytes.baseAddress, bytes.count)
            #endif
        }
    }
}
