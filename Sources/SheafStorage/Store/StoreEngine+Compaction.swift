import SheafBytes
import Synchronization

/// Where the compaction of a store stands.
struct CompactionState {
    /// The run under way.
    var run: Compactor?
    /// Plans to be carried out before new ones are made.
    var queue: [CompactionPlan] = []
    /// How far the log had grown when a base file was made, by its first segment.
    var foldedAt: [UInt32: Int] = [:]
    /// Why nothing is compacted any more until the store is opened again.
    var failure: StorageError?
}

extension StoreEngine {
    private static let sliceLength = 256 << 10
    /// Removals are forgotten so many at a time, so that no writer waits for long.
    private static let forgetCount = 256

    /// Goes on with compaction, reading about `budget` bytes; false when there is nothing to do.
    ///
    /// `pace` is told each length that was read or written.
    @discardableResult
    package func compactionStep(
        budget: Int = 256 << 10, pace: (Int) -> Void = { _ in }
    ) throws(StorageError) -> Bool {
        try compaction.withLock { compaction throws(StorageError) in
            guard compaction.failure == nil else { return false }
            if compaction.run == nil {
                guard let plan = nextPlan(&compaction) else { return false }
                compaction.run = try begin(plan)
            }
            guard let run = compaction.run else { return false }
            do throws(StorageError) {
                var read = 0
                while read < budget {
                    let length = try run.step()
                    read += length
                    if run.bufferedLength >= Self.sliceLength { pace(try run.flush()) }
                    guard length == 0 else { continue }
                    compaction.run = nil
                    try finish(run, &compaction)
                    return true
                }
                pace(read)
                return true
            } catch {
                // Damage and full disks do not go away by trying again at once.
                compaction.run?.abandon()
                compaction.run = nil
                compaction.failure = error
                throw error
            }
        }
    }

    /// Plans to fold everything before the horizon, whatever it gains.
    package func compactEverything() {
        let plans = planner()?.everything() ?? []
        compaction.withLock { $0.queue = plans }
    }

    /// What would be folded next; with `everything`, all that could be.
    package func compactionPlans(everything: Bool) -> [CompactionPlan] {
        guard let planner = planner() else { return [] }
        if everything { return planner.everything() }
        return [isGarbageExcessive() ? planner.leastLiveRun() : planner.smallRun()]
            .compactMap { $0 }
    }

    private func nextPlan(_ compaction: inout CompactionState) -> CompactionPlan? {
        while !compaction.queue.isEmpty {
            let plan = compaction.queue.removeFirst()
            // Files may have been folded since the plan was made.
            if isCurrent(plan) { return plan }
        }
        guard let planner = planner(foldedAt: compaction.foldedAt) else { return nil }
        if isGarbageExcessive(), let plan = planner.leastLiveRun() { return plan }
        return planner.smallRun()
    }

    /// Whether the files of a plan are still the ones that readers use.
    private func isCurrent(_ plan: CompactionPlan) -> Bool {
        let segments = snapshot().segments
        return plan.files.allSatisfy { file in
            segments.segment(file.header.segments.lowerBound) === file
        }
    }

    /// Whether the directory takes more than the live bytes allow.
    package func isGarbageExcessive() -> Bool {
        // Compaction starts a little early, so that it need not hurry.
        garbagePressure() > 0.9
    }

    /// What the directory takes, as a multiple of what the live bytes allow.
    package func garbagePressure() -> Double {
        let usage = usage()
        let allowed = Double(usage.liveBytes) / options.liveShare + Double(options.freeGarbage)
        return Double(usage.directoryBytes) / allowed
    }

    /// Looks how much garbage there is, for those who have no time to look themselves.
    func notePressure() {
        knownPressure.store(Int(min(garbagePressure(), 1_000) * 1_000), ordering: .relaxed)
    }

    /// The share of a flush's time that writers should wait more, so that compaction keeps up:
    /// nothing up to a twentieth above the limit, and all of it from three twentieths on.
    var writerDelay: Double {
        let excess = Double(knownPressure.load(ordering: .relaxed)) / 1_000 - 1.05
        return min(max(excess * 10, 0), 1)
    }

    /// What the store takes on the disk, and what of that is still needed.
    package func usage() -> (directoryBytes: Int, liveBytes: Int) {
        let (snapshot, live, next) = state.withLock { state in
            (
                state.published, state.keyspace.live.total,
                options.segmentLength(liveBytes: state.keyspace.live.total)
            )
        }
        var bytes = checkpoints.withLock { $0.length }
        for file in snapshot.segments.files {
            // The segment in use and the one prepared behind it are as long as they will be.
            bytes += file.footer.map { $0.contentLength + SegmentFooter.length } ?? 2 * next
        }
        return (bytes, live)
    }

    private func planner(foldedAt: [UInt32: Int] = [:]) -> CompactionPlanner? {
        settleLiveBytes()
        let (snapshot, live) = state.withLock { ($0.published, $0.keyspace.live) }
        return CompactionPlanner(
            snapshot, live: live, options: options, foldedAt: foldedAt)
    }

    private func begin(_ plan: CompactionPlan) throws(StorageError) -> Compactor {
        try Compactor(
            plan, snapshot: settleLiveBytes(), volume: volume, store: store,
            removalLimit: checkpoints.withLock { $0.names.isEmpty ? plan.horizon : $0.floor },
            temporary: FileName.temporaryName(options.random()),
            now: options.clock.wallMilliseconds())
    }

    /// Lets readers use the new file, and removes the ones that it replaces.
    private func finish(
        _ run: Compactor, _ compaction: inout CompactionState
    ) throws(StorageError) {
        let plan = run.plan
        let result = try run.finish()
        let grown = state.withLock { state in
            let segments = state.published.segments.replacing(with: result.base)
            state.published = state.published.with(segments)
            publish(state.published)
            state.keyspace.live.merge(plan.segments)
            return state.published.grownLength
        }
        compaction.foldedAt[plan.segments.lowerBound] = grown
        var rest = result.forgotten[...]
        while !rest.isEmpty {
            let some = rest.prefix(Self.forgetCount)
            state.withLock { $0.keyspace.forget(some) }
            rest = rest.dropFirst(some.count)
        }
        try translatingErrors { () throws(VolumeError) in
            for file in plan.files where file.name != result.base.name {
                try volume.remove(file.name)
            }
        }
    }
}
