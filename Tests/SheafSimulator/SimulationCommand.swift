import SheafStorage
import SheafTestSupport
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Ends the process.
package func exitProcess(_ code: Int32) -> Never {
    exit(code)
}

/// `sheaf-simulate [--images N] [--seed S] [--threads T]`: lives until N images were checked.
package enum SimulationCommand {
    /// What the threads share.
    private struct Progress {
        var report = CrashSimulation.Report()
        var nextSeed: UInt64
        var violation: String?
    }

    /// Runs the command; returns the exit code: 1 for a violation, 64 for wrong arguments.
    package static func run(_ arguments: [String]) -> Int32 {
        var images = 1_000_000
        var threads = 2
        var seed = OperatingSystem.randomInteger() % 1_000_000_000
        var rest = arguments[...]
        while let name = rest.popFirst() {
            guard let value = rest.popFirst().flatMap({ UInt64($0) }) else {
                return complain("\(name) takes a number")
            }
            switch name {
            case "--images": images = Int(clamping: value)
            case "--threads": threads = max(1, Int(clamping: value))
            case "--seed": seed = value
            default: return complain("unknown option \(name)")
            }
        }
        // The seed comes first: what crashes prints nothing afterwards.
        write("sheaf-simulate: \(images) images from seed \(seed)\n", to: 2)
        let report = simulate(images: images, threads: threads, seed: seed)
        return report
    }

    private static func simulate(images: Int, threads: Int, seed: UInt64) -> Int32 {
        let started = Clock.system.monotonicNanoseconds()
        let progress = SharedProgress(Progress(nextSeed: seed))
        let workers = (0..<threads).compactMap { index in
            try? Thread(name: "simulate-\(index)") {
                while let next = progress.state.withLock({ state -> UInt64? in
                    guard state.violation == nil, state.report.total < images else { return nil }
                    defer { state.nextSeed += 1 }
                    return state.nextSeed
                }) {
                    let simulation = CrashSimulation(
                        seed: next, hasFaults: next % 2 == 1, isTraced: images == 1)
                    do {
                        try simulation.run()
                    } catch {
                        progress.state.withLock { $0.violation = "\(error)" }
                    }
                    let report = simulation.report
                    progress.state.withLock { $0.report.add(report) }
                }
            }
        }
        for worker in workers { worker.join() }
        let (report, violation) = progress.state.withLock { ($0.report, $0.violation) }
        let seconds = Double(Clock.system.monotonicNanoseconds() - started) / 1e9
        for phase in CrashSimulation.Phase.allCases {
            write("\(report.images[phase] ?? 0)\t\(phase.rawValue)\n", to: 1)
        }
        let rate = Int(Double(report.total) / max(seconds, 1e-9))
        write(
            "\(report.total) images of \(report.runs) lives with \(report.commits) commits, "
                + "\(rate) images a second\n", to: 1)
        if let violation {
            write("violation: \(violation)\n", to: 1)
            return 1
        }
        write("0 violations, seeds \(seed)...\(seed + UInt64(report.runs) - 1)\n", to: 1)
        return 0
    }

    private static func complain(_ message: String) -> Int32 {
        write(
            "sheaf-simulate: \(message)\n"
                + "usage: sheaf-simulate [--images N] [--seed S] [--threads T]\n", to: 2)
        return 64
    }

    private static func write(_ text: String, to descriptor: Int32) {
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

    private final class SharedProgress: Sendable {
        let state: Mutex<Progress>

        init(_ progress: Progress) {
            state = Mutex(progress)
        }
    }
}
