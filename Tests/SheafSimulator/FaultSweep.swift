import SheafBytes
import SheafStorage
import SheafTestSupport

/// A sweep that repeats one workload and fails a different call in each run.
package struct FaultSweep: Sendable {
    /// The fault of a failing call.
    package enum Fault: String, CaseIterable, Sendable {
        case inputOutput = "EIO"
        case noSpace = "ENOSPC"
        case interrupted = "EINTR"
        case tooManyFiles = "EMFILE"
        case short = "short transfer"

        var effect: SimulatedFault.Effect {
            switch self {
            case .inputOutput: .error(.inputOutput)
            case .noSpace: .error(.noSpace)
            case .interrupted: .error(.interrupted)
            case .tooManyFiles: .error(.tooManyFiles)
            case .short: .short
            }
        }
    }

    /// A fault, the call it hits, and whether all later calls fail too.
    package struct Case: Sendable, CustomStringConvertible {
        package let fault: Fault
        package let call: Int
        package let isForEver: Bool

        package var description: String {
            "\(fault.rawValue) at call \(call)\(isForEver ? " and all later calls" : "")"
        }
    }

    private let seed: UInt64

    package init(seed: UInt64) {
        self.seed = seed
    }

    /// Returns the number of calls and of bytes written by the workload without a fault.
    package func measure() throws -> (calls: Int, bytes: Int) {
        let volume = SimulatedVolume(seed: seed)
        var workload = FaultWorkload(volume: volume, seed: seed)
        try workload.run()
        guard workload.errors.isEmpty else {
            throw Violation("the workload fails without a fault: \(workload.errors)")
        }
        return (volume.counters.total, volume.counters.bytesWritten)
    }

    /// Returns all failure cases of a workload with `calls` calls.
    package static func cases(calls: Int) -> [Case] {
        var cases: [Case] = []
        for call in 1...calls {
            for fault in Fault.allCases {
                for isForEver in [false, true] {
                    cases.append(Case(fault: fault, call: call, isForEver: isForEver))
                }
            }
        }
        return cases
    }

    /// Runs the workload with one failure; returns the number of steps that threw.
    @discardableResult
    package func run(_ failure: Case) throws -> Int {
        let volume = SimulatedVolume(seed: seed &+ UInt64(failure.call))
        volume.inject(
            SimulatedFault(
                failure.fault.effect, atCall: failure.call, forEver: failure.isForEver))
        do {
            let errors = try run(on: volume)
            guard failure.fault != .short || errors.isEmpty else {
                throw Violation("a short transfer caused errors: \(errors)")
            }
            return errors.count
        } catch {
            throw Violation("seed \(seed), \(failure): \(error)")
        }
    }

    /// Runs the workload on a disk with room for `quota` bytes; returns the number of failed steps.
    @discardableResult
    package func run(quota: Int) throws -> Int {
        let volume = SimulatedVolume(seed: seed)
        volume.quota = quota
        do {
            return try run(on: volume).count
        } catch {
            throw Violation("seed \(seed), room for \(quota) bytes: \(error)")
        }
    }

    private func run(on volume: SimulatedVolume) throws -> [StorageError] {
        var workload = FaultWorkload(volume: volume, seed: seed)
        try workload.run()
        volume.removeFaults()
        volume.quota = nil
        // The next process finds the page cache intact, or the disk after a power cut.
        for next in [volume.processDeath(seed: seed), volume.powerCut(seed: seed)] {
            try workload.expectEverything(on: next)
        }
        return workload.errors
    }
}

/// A workload that runs every operation of a store in a fixed order, recording errors.
struct FaultWorkload {
    private let volume: SimulatedVolume
    private var random: SeededRandom
    private var options = LogStoreOptions()
    private var engine: StoreEngine?
    private var model = StoreModel()
    private var acknowledged: CommitID = 0
    private(set) var errors: [StorageError] = []

    init(volume: SimulatedVolume, seed: UInt64) {
        self.volume = volume
        random = SeededRandom(seed: seed, "workload")
        options.segmentLength = 2_000
        options.recordLength = 300
        options.stagingThreshold = 200
        options.history = HistoryHorizon(commits: 6, bytes: .max)
        options.clock = FakeClock().clock
        options.runsMaintenance = false
        let identifiers = SeededSource(seed: seed)
        options.random = { identifiers.next() }
    }

    mutating func run() throws {
        for round in 0..<3 {
            try attempt { workload throws(StorageError) in try workload.open() }
            for number in 0..<12 {
                // The seventh commit needs several records, the tenth several segments. The fourth
                // has puts that are in files already.
                let count = number == 6 ? 12 : number == 9 ? 60 : number == 3 ? 3 : 2
                try attempt { workload throws(StorageError) in
                    try workload.commit(operations: count)
                }
                if number % 3 == 2 {
                    try attempt { workload throws(StorageError) in
                        try workload.engine?.prepareNextSegment()
                    }
                }
            }
            try attempt { workload throws(StorageError) in
                try workload.engine?.trimSealedSegments()
            }
            try attempt { workload throws(StorageError) in try workload.engine?.writeCheckpoint() }
            try attempt { workload throws(StorageError) in try workload.compact() }
            try attempt { workload throws(StorageError) in try workload.commit(operations: 3) }
            guard round < 2 else { return }
            try attempt { workload throws(StorageError) in try workload.close() }
        }
    }

    /// Verifies that all acknowledged commits are in `next` and that it accepts new commits.
    func expectEverything(on next: SimulatedVolume) throws {
        var model = model
        for _ in 0..<2 {
            let engine = try StoreEngine(opening: next, options: options)
            let last = engine.snapshot().commit
            guard last >= acknowledged, last <= model.last else {
                throw Violation(
                    "the store is at commit \(last), not within \(acknowledged)...\(model.last)")
            }
            model.rewind(to: last)
            try model.check(engine.snapshot())
            var batch = ModelBatch(after: model)
            try batch.appendDelta(1, [1, 2, 3])
            _ = try engine.append(batch.batch)
            model.commit(batch.changes)
            try engine.close()
        }
    }

    /// Runs a step; after an error, all earlier commits must be readable.
    private mutating func attempt(
        _ step: (inout FaultWorkload) throws(StorageError) -> Void
    ) throws {
        do throws(StorageError) {
            try step(&self)
            return
        } catch {
            errors.append(error)
        }
        guard let engine else { return }
        let snapshot = engine.snapshot()
        guard snapshot.commit >= acknowledged else {
            throw Violation("readers see commit \(snapshot.commit) after \(acknowledged)")
        }
        try model.check(snapshot)
        if engine.failure != nil, random.chance(1, in: 3) { self.engine = nil }
    }

    private mutating func open() throws(StorageError) {
        engine = nil
        let engine = try StoreEngine(opening: volume, options: options)
        self.engine = engine
        let last = engine.snapshot().commit
        // Commits that were not acknowledged may have become durable.
        if last >= acknowledged, last <= model.last { model.rewind(to: last) }
        acknowledged = max(acknowledged, last)
    }

    private mutating func commit(operations count: Int) throws(StorageError) {
        if engine == nil { try open() }
        guard let engine else { return }
        var (batch, staged) = (ModelBatch(after: model), 0)
        if count == 3, engine.snapshot().commit == engine.lastCommit {
            staged = model.keyCount - 2
            let puts = (0..<staged).map { ($0, random.bytes(1 + random.below(150))) }
            batch = try ModelBatch(after: model, staging: puts, in: engine, &random)
        }
        for _ in 0..<count {
            let key = staged + random.below(model.keyCount - staged)
            switch random.below(10) {
            case 0..<2: try batch.remove(key)
            case 2..<5: try batch.appendDelta(key, random.bytes(random.below(150)))
            default: try batch.put(key, random.bytes(random.below(150)))
            }
        }
        let commit = try engine.append(batch.batch)
        model.commit(batch.changes)
        precondition(commit == model.last, "Commits are numbered without a gap.")
        try engine.flush()
        acknowledged = model.last
    }

    private func compact() throws(StorageError) {
        guard let engine else { return }
        engine.compactEverything()
        while try engine.compactionStep() {}
    }

    private mutating func close() throws(StorageError) {
        defer { engine = nil }
        try engine?.close()
        acknowledged = max(acknowledged, engine?.snapshot().commit ?? 0)
    }
}
