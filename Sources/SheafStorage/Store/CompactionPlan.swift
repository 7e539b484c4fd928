/// A set of consecutive segments to compact, and the history horizon.
package struct CompactionPlan: Sendable {
    /// The files to compact, which are consecutive.
    package let files: [Segment]
    /// The position up to which operations are older than the history horizon.
    let horizon: LogPosition
    /// The last commit before the horizon.
    package let horizonCommit: CommitID
    /// The total length of the files, and the number of live bytes in them.
    package let length: Int
    package let liveLength: Int

    /// The segments that the new base file replaces.
    package var segments: ClosedRange<UInt32> {
        guard let first = files.first, let last = files.last else {
            preconditionFailure("A plan has at least one file.")
        }
        return first.header.segments.lowerBound...last.header.segments.upperBound
    }

    /// Whether the log starts with these files, so that no older file needs their removals.
    var startsLog: Bool { segments.lowerBound == 1 }
}

/// A policy that selects the files to compact; a pure function of its inputs.
struct CompactionPlanner {
    /// A sealed file that may be compacted.
    struct Candidate {
        let segment: Segment
        let length: Int
        let liveLength: Int
        /// Whether a commit continues from the previous file, so that both are compacted together.
        let continuesCommit: Bool
        /// Whether the file was compacted too recently for another compaction to be worthwhile.
        let isSettled: Bool

        var garbage: Int { length - liveLength }
        var isSmall: Bool { length < CompactionPlanner.smallLength }
    }

    /// The length below which files are merged with their neighbors even without garbage.
    static let smallLength = 64 << 10
    /// The number of consecutive small files that makes merging them worthwhile.
    static let smallRunCount = 8
    /// The minimum share of garbage, in percent, that makes rewriting a file worthwhile.
    static let worthwhilePercent = 10

    /// The candidates in log order, all before the horizon.
    let candidates: [Candidate]
    let horizon: LogPosition
    let horizonCommit: CommitID
    /// The maximum number of live bytes in one base file.
    let outputLimit: Int

    /// Returns a plan around the file with the smallest share of live bytes, if that is worthwhile.
    func emptiestRun() -> CompactionPlan? {
        var best: Int?
        for (index, candidate) in candidates.enumerated() where !candidate.isSettled {
            guard candidate.garbage * 100 >= candidate.length * Self.worthwhilePercent else {
                continue
            }
            guard let current = best else {
                best = index
                continue
            }
            let leader = candidates[current]
            // The shares are cross-multiplied, which avoids a division by the length of an empty
            // file.
            if candidate.liveLength * leader.length < leader.liveLength * candidate.length {
                best = index
            }
        }
        guard let best else { return nil }
        return plan(grow(best...best))
    }

    /// Returns a plan that merges consecutive small files, if there are enough of them.
    func smallRun() -> CompactionPlan? {
        var start = 0
        while start < candidates.count {
            guard candidates[start].isSmall else {
                start += 1
                continue
            }
            var end = start
            while end + 1 < candidates.count, candidates[end + 1].isSmall { end += 1 }
            if end - start + 1 >= Self.smallRunCount { return plan(closed(start...end)) }
            start = end + 1
        }
        return nil
    }

    /// Returns plans for all files before the horizon, except base files not worth rewriting.
    ///
    /// Each plan covers as many files as the output limit allows.
    func everything() -> [CompactionPlan] {
        var plans: [CompactionPlan] = []
        var start = 0
        while start < candidates.count {
            var end = closed(start...start).upperBound
            while end + 1 < candidates.count {
                let wider = closed(start...end + 1)
                guard liveLength(wider) <= outputLimit else { break }
                end = wider.upperBound
            }
            // A single base file is already compacted, so it is rewritten only for enough garbage.
            let isCompacted = start == end && candidates[start].segment.header.kind == .base
            let hasGarbage =
                candidates[start].garbage * 100
                >= candidates[start].length * Self.worthwhilePercent
            if !isCompacted || hasGarbage, let plan = plan(start...end) { plans.append(plan) }
            start = end + 1
        }
        return plans
    }

    /// Extends a range by neighbors that are small or mostly garbage.
    private func grow(_ run: ClosedRange<Int>) -> ClosedRange<Int> {
        var run = closed(run)
        func isWelcome(_ index: Int) -> Bool {
            guard candidates.indices.contains(index) else { return false }
            let candidate = candidates[index]
            let isMostlyGarbage = candidate.liveLength * 2 <= candidate.length
            guard isMostlyGarbage && !candidate.isSettled || candidate.isSmall else { return false }
            return liveLength(closed(min(index, run.lowerBound)...max(index, run.upperBound)))
                <= outputLimit
        }
        while isWelcome(run.upperBound + 1) {
            run = closed(run.lowerBound...run.upperBound + 1)
        }
        while isWelcome(run.lowerBound - 1) {
            run = closed(run.lowerBound - 1...run.upperBound)
        }
        return run
    }

    /// Extends a range so that no commit crosses its ends.
    private func closed(_ run: ClosedRange<Int>) -> ClosedRange<Int> {
        var lower = run.lowerBound
        var upper = run.upperBound
        while lower > 0, candidates[lower].continuesCommit { lower -= 1 }
        while upper + 1 < candidates.count, candidates[upper + 1].continuesCommit { upper += 1 }
        return lower...upper
    }

    private func liveLength(_ run: ClosedRange<Int>) -> Int {
        candidates[run].reduce(0) { $0 + $1.liveLength }
    }

    private func plan(_ run: ClosedRange<Int>) -> CompactionPlan? {
        let chosen = candidates[run]
        guard let first = chosen.first, !first.continuesCommit || run.lowerBound > 0 else {
            return nil
        }
        return CompactionPlan(
            files: chosen.map(\.segment), horizon: horizon, horizonCommit: horizonCommit,
            length: chosen.reduce(0) { $0 + $1.length }, liveLength: liveLength(run))
    }
}
