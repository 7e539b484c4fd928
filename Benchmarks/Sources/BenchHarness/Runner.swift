import Glibc

/// A runner of cases, in which the systems alternate so that disturbances affect all of them.
package struct Runner {
    private let scale: Scale
    private let disk: Folder
    private let memory: Folder
    private let profiler: PerfRecorder?
    private let log: (String) -> Void

    /// Creates a runner whose systems store their files in `disk` and `memory`.
    ///
    /// `profiler` samples the rounds of the engine.
    package init(
        scale: Scale, disk: Folder, memory: Folder, profiler: PerfRecorder? = nil,
        log: @escaping (String) -> Void
    ) {
        self.profiler = profiler
        self.scale = scale
        self.disk = disk
        self.memory = memory
        self.log = log
    }

    /// The result of one case.
    package struct Outcome {
        package var figures: [Figure] = []
        package var curves: [LatencyCurve] = []
        /// The systems that threw.
        package var failures: [String] = []
    }

    /// Runs one case with all its systems.
    package func run(_ test: Case, of workload: String) async -> Outcome {
        let label = "\(workload)/\(test.name)"
        let start = now()
        var outcome = Outcome()
        var contestants: [Contestant] = []
        for system in test.systems {
            let contestant = Contestant(system.name)
            await attempt(label, contestant, &outcome) {
                let stage = try contestant.makeStage(
                    for: test, disk: disk, memory: memory, scale: scale)
                let trial = try await system.prepare(stage)
                contestant.trial = trial
                _ = try await trial.run(round: 0)
            }
            contestants.append(contestant)
        }
        // Pending disk writes of the preparation must not slow the first round.
        sync()
        for round in 1...scale.rounds {
            for contestant in contestants where !outcome.failures.contains(contestant.name) {
                await attempt(label, contestant, &outcome) {
                    guard let trial = contestant.trial else { return }
                    let profiler = contestant.name == Figure.engine ? profiler : nil
                    try profiler?.enable()
                    contestant.samples.append(try await trial.run(round: round))
                    try profiler?.disable()
                }
            }
        }
        for contestant in contestants {
            await attempt(label, contestant, &outcome) {
                try await contestant.trial?.finish()
            }
            contestant.trial = nil
            contestant.removeFolders()
            guard !outcome.failures.contains(contestant.name), !contestant.samples.isEmpty
            else { continue }
            outcome.figures += Figure.all(
                of: contestant.samples, system: contestant.name, in: test, workload: workload)
            outcome.curves += LatencyCurve.all(
                of: contestant.samples, system: contestant.name, in: test)
        }
        // The figures of all systems are grouped by name.
        outcome.figures = test.figureNames.flatMap { name in
            outcome.figures.filter { $0.name == name }
        }
        log("\(label): \(Format.number(seconds(since: start))) s")
        return outcome
    }

    private func attempt(
        _ label: String, _ contestant: Contestant, _ outcome: inout Outcome,
        _ work: () async throws -> Void
    ) async {
        do {
            try await work()
        } catch let unavailable as SystemUnavailable {
            log("\(label): \(contestant.name) is left out: \(unavailable)")
        } catch {
            log("\(label): \(contestant.name) failed: \(error)")
            if !outcome.failures.contains(contestant.name) {
                outcome.failures.append(contestant.name)
            }
        }
    }
}

/// A system during its case.
private final class Contestant {
    let name: String
    var trial: (any Trial)?
    var samples: [Sample] = []
    private var disk: Folder?
    private var memory: Folder?

    init(_ name: String) {
        self.name = name
    }

    func makeStage(
        for test: Case, disk: Folder, memory: Folder, scale: Scale
    ) throws -> Stage {
        let disk = try disk.child("\(test.name)-\(name)")
        self.disk = disk
        let memory = try memory.child("\(test.name)-\(name)-memory")
        self.memory = memory
        return Stage(disk: disk, memory: memory, scale: scale)
    }

    func removeFolders() {
        disk?.remove()
        memory?.remove()
    }
}
