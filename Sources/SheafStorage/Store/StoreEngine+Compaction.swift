import SheafBytes
import SheafSystem
import Synchronization

/// The running compaction of a store, and its plans.
struct CompactionState {
    /// The compaction in progress.
    var run: Compactor?
    /// Plans to execute before new ones are considered.
    var queue: [CompactionPlan] = []
    /// The grown length of the log when each base file was written, by its first segment.
    var compactedAt: [UInt32: Int] = [:]
    /// The error that stopped compaction until the store is reopened.
    var failure: StorageError?
}

extension StoreEngine {
    private static let sliceLength = 256 << 10
    /// The number of removals dropped per lock acquisition, which bounds the wait of writers.
    private static let dropCount = 256

    /// Continues compaction, reading about `budget` bytes; false if none is due or it has failed.
    ///
    /// `onProgress` gets the length of each read and write.
    @discardableResult
    package func compactionStep(
        budget: Int = 256 << 10, onProgress: (Int) -> Void = { _ in }
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
                    if run.bufferedLength >= Self.sliceLength { onProgress(try run.flush()) }
                    guard length == 0 else { continue }
                    compaction.run = nil
                    try finish(run, &compaction)
                    return true
                }
                onProgress(read)
                return true
            } catch {
                // Retrying immediately would not fix damage or a full disk.
                compaction.run?.abandon()
                compaction.run = nil
                compaction.failure = error
                throw error
            }
        }
    }

    /// Queues plans for all files before the horizon, except base files not worth rewriting.
    package func compactEverything() {
        let plans = planner()?.everything() ?? []
        compaction.withLock { $0.queue = plans }
    }

    /// Returns the plan that is due, if any, or those that `compactEverything` would queue.
    package func compactionPlans(everything: Bool) -> [CompactionPlan] {
        guard let planner = planner() else { return [] }
        if everything { return planner.everything() }
        return [isGarbageExcessive() ? planner.emptiestRun() : planner.smallRun()]
            .compactMap { $0 }
    }

    private func nextPlan(_ compaction: inout CompactionState) -> CompactionPlan? {
        while !compaction.queue.isEmpty {
            let plan = compaction.queue.removeFirst()
            // Files may have been compacted since the plan was created.
            if isCurrent(plan) { return plan }
        }
        guard let planner = planner(compactedAt: compaction.compactedAt) else { return nil }
        if isGarbageExcessive(), let plan = planner.emptiestRun() { return plan }
        return planner.smallRun()
    }

    /// Whether the newest snapshot still has the files of a plan.
    private func isCurrent(_ plan: CompactionPlan) -> Bool {
        let segments = snapshot().segments
        return plan.files.allSatisfy { file in
            segments.segment(file.header.segments.lowerBound) === file
        }
    }

    /// Whether the directory is near or above the size allowed for the live bytes.
    package func isGarbageExcessive() -> Bool {
        // Compaction starts slightly below the limit to avoid delaying writers.
        garbagePressure() > 0.9
    }

    /// Returns the size of the directory relative to the size allowed for the live bytes.
    package func garbagePressure() -> Double {
        let usage = usage()
        let allowed = Double(usage.liveBytes) / options.liveShare + Double(options.freeGarbage)
        return Double(usage.directoryBytes) / allowed
    }

    /// Updates the cached garbage pressure, which can be read without a lock.
    package func updatePressure() {
        lastPressure.store(Int(min(garbagePressure(), 1_000) * 1_000), ordering: .relaxed)
    }

    /// The delay of writers as a share of the flush time, so that compaction keeps up.
    ///
    /// It rises from zero at 5 % above the limit to one at 15 %.
    package var writerDelay: Double {
        let excess = Double(lastPressure.load(ordering: .relaxed)) / 1_000 - 1.05
        return min(max(excess * 10, 0), 1)
    }

    /// Returns the size of the store on disk and the number of live bytes.
    package func usage() -> (directoryBytes: Int, liveBytes: Int) {
        let (snapshot, live, next) = state.withLock { state in
            (
                state.published, state.keyspace.live.total,
                options.segmentLength(liveBytes: state.keyspace.live.total)
            )
        }
        var bytes = checkpoints.withLock { $0.length }
        for file in snapshot.segments.files {
            // The segment in use and the prepared one are counted with their full length.
            bytes += file.footer.map { $0.contentLength + SegmentFooter.length } ?? 2 * next
        }
        return (bytes, live)
    }

    private func planner(compactedAt: [UInt32: Int] = [:]) -> CompactionPlanner? {
        updateLiveBytes()
        let (snapshot, live) = state.withLock { ($0.published, $0.keyspace.live) }
        return CompactionPlanner(
            snapshot, live: live, options: options, compactedAt: compactedAt)
    }

    private func begin(_ plan: CompactionPlan) throws(StorageError) -> Compactor {
        try Compactor(
            plan, snapshot: updateLiveBytes(), volume: volume, store: store,
            removalLimit: checkpoints.withLock { $0.names.isEmpty ? plan.horizon : $0.floor },
            temporary: FileName.temporaryName(options.random()),
            now: options.clock.wallMilliseconds())
    }

    /// Publishes the base file to readers and removes the files that it replaces.
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
        recordReplacement()
        compaction.compactedAt[plan.segments.lowerBound] = grown
        var rest = result.droppedRemovals[...]
        while !rest.isEmpty {
            let some = rest.prefix(Self.dropCount)
            state.withLock { $0.keyspace.dropRemovals(some) }
            rest = rest.dropFirst(some.count)
        }
        try translatingErrors { () throws(VolumeError) in
            for file in plan.files where file.name != result.base.name {
                try volume.remove(file.name)
            }
        }
    }
}
