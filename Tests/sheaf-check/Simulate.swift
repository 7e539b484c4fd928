import SheafSimulator
import SheafSystem
import Synchronization

extension Verb {
    static let simulate = Verb(
        name: "simulate", summary: "power cuts, damage and failing calls in simulated stores",
        operands: .choice(Simulation.allCases.map(\.rawValue)),
        options: [
            .seed,
            .number("--images", "N", "stop after N images of crashes, 1,000,000 by default"),
            .number(
                "--lives", "N", "simulate N stores instead; 1 shows the last calls on a violation"),
            .number("--threads", "T", "the number of threads, 2 by default"),
            .number("--stride", "N", "run one of N cases"),
            .number("--bytes", "N", "the size of damaged stores, 262,144 by default"),
        ],
        details: "Without an operand, simulates crashes.", run: { Simulate.run($0) })
}

/// The kinds of simulations.
private enum Simulation: String, CaseIterable {
    case crashes, flips, truncations, blocks, faults, quotas
}

/// The run of any number of simulations.
private enum Simulate {
    private struct Options {
        let seed: UInt64
        let images: Int
        let simulations: Int?
        let threads: Int
        let stride: Int
        let byteCount: Int

        init(_ arguments: CheckArguments) {
            seed = arguments.seed
            images = arguments.number("--images") ?? 1_000_000
            simulations = arguments.number("--lives")
            threads = max(1, arguments.number("--threads") ?? 2)
            stride = max(1, arguments.number("--stride") ?? 1)
            byteCount = arguments.number("--bytes") ?? 256 << 10
        }
    }

    static func run(_ arguments: CheckArguments) -> Int32 {
        let options = Options(arguments)
        let simulation = arguments.operands.first.flatMap(Simulation.init) ?? .crashes
        // The seed is printed first, in case the run crashes.
        write("sheaf-check simulate \(simulation), seed \(options.seed)\n", to: 2)
        do {
            switch simulation {
            case .crashes: try crashes(options)
            case .flips: try sweep(options) { try $0.flip($1) }
            case .truncations: try sweep(options) { try $0.truncate($1) }
            case .blocks: try blocks(options)
            case .faults: try faults(options)
            case .quotas: try quotas(options)
            }
            return CheckExitCode.passed
        } catch {
            printLine("violation: \(error)")
            return CheckExitCode.failed
        }
    }

    // MARK: Simulations

    private static func crashes(_ options: Options) throws {
        let report = Mutex(CrashSimulation.Report())
        let stopwatch = Stopwatch()
        let violation = each(of: options.simulations ?? .max, on: options.threads) { index in
            guard options.simulations != nil || report.withLock({ $0.total < options.images })
            else {
                return false
            }
            let simulation = CrashSimulation(
                seed: options.seed &+ UInt64(index), isTraced: options.simulations == 1)
            defer {
                let partial = simulation.report
                report.withLock { $0.add(partial) }
            }
            try simulation.run()
            return true
        }
        let seconds = Double(stopwatch.nanoseconds) / 1e9
        let sum = report.withLock { $0 }
        for phase in CrashSimulation.Phase.allCases {
            printLine("\(sum.images[phase] ?? 0)\t\(phase.rawValue)")
        }
        let rate = Int(Double(sum.total) / max(seconds, 1e-9))
        printLine(
            "\(sum.total) images of \(sum.runs) runs with \(sum.commits) commits, "
                + "\(sum.verified) verified, \(sum.replayed) replayed\n"
                + "digest \(String(sum.digest, radix: 16))")
        write("\(rate) images per second\n", to: 2)
        if let violation { throw violation }
        printLine("0 violations, seeds \(options.seed)...\(options.seed + UInt64(sum.runs) - 1)")
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
            printLine(
                "\(ending.rawValue) store, \(store.names.count) files, "
                    + "\(store.byteCount) bytes: \(describe(sum))")
            if let violation { throw violation }
        }
        printLine("0 undetected errors")
    }

    private static func blocks(_ options: Options) throws {
        for ending in ReferenceStore.Ending.allCases {
            let store = try ReferenceStore(
                seed: options.seed, ending: ending, byteCount: options.byteCount)
            let other = try ReferenceStore(
                seed: options.seed &+ 1, ending: ending, byteCount: options.byteCount)
            let copy = try ReferenceStore(
                seed: options.seed, ending: ending, byteCount: options.byteCount, seedOffset: 1)
            let tallies = try DamageSweep(store, seed: options.seed).damageBlocks(
                other: other, copy: copy, stride: options.stride)
            for (kind, tally) in tallies.sorted(by: { $0.key < $1.key }) {
                printLine("\(ending.rawValue) store, \(kind): \(describe(tally))")
            }
        }
        printLine("0 undetected errors")
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
        printLine(
            "\(calls) calls, \(cases.count / options.stride) failures, "
                + "\(errors.withLock { $0 }) typed errors, 0 acknowledged commits lost")
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
        printLine(
            "\(bytes / step) full disks, \(errors.withLock { $0 }) typed errors, "
                + "0 acknowledged commits lost")
    }

    // MARK: Helpers

    /// Runs `body` for each number below `count` until it returns false or throws.
    ///
    /// Returns the first violation.
    private static func each(
        of count: Int, on threadCount: Int, _ body: @escaping @Sendable (Int) throws -> Bool
    ) -> (any Error)? {
        let progress = EachProgress()
        let threads = (0..<threadCount).compactMap { number in
            try? Thread(name: "simulate-\(number)") {
                while let index = progress.next(below: count) {
                    do {
                        if try !body(index) { return }
                    } catch {
                        progress.stop(error)
                    }
                }
            }
        }
        for thread in threads { thread.join() }
        return progress.violation
    }

    private final class EachProgress: Sendable {
        private let state = Mutex((next: 0, violation: (any Error)?.none))

        var violation: (any Error)? { state.withLock { $0.violation } }

        func next(below count: Int) -> Int? {
            state.withLock { state in
                guard state.violation == nil, state.next < count else { return nil }
                defer { state.next += 1 }
                return state.next
            }
        }

        func stop(_ violation: any Error) {
            state.withLock { $0.violation = $0.violation ?? violation }
        }
    }

    private static func describe(_ tally: DamageSweep.Tally) -> String {
        DamageSweep.Outcome.allCases.map { "\(tally.counts[$0] ?? 0) \($0.rawValue)" }
            .joined(separator: ", ")
    }
}
