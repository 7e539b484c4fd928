/// Which segments to fold together, and how far back.
package struct CompactionPlan: Sendable {
    /// The files to fold, which follow each other.
    package let files: [Segment]
    /// Everything up to here is older than the history horizon.
    let horizon: LogPosition
    /// The last commit up to there.
    let horizonCommit: CommitID
    /// What the files take, and what of that is still needed.
    package let length: Int
    package let liveLength: Int

    /// The segments that the new base file will hold.
    package var segments: ClosedRange<UInt32> {
        guard let first = files.first, let last = files.last else {
            preconditionFailure("A plan has at least one file.")
        }
        return first.header.segments.lowerBound...last.header.segments.upperBound
    }

    /// Whether nothing is older than these files: what was removed in them is gone for good.
    var startsLog: Bool { segments.lowerBound == 1 }
}

/// Chooses what to compact: a pure function of what the store looks like.
struct CompactionPlanner {
    /// One sealed file, as far as the choice is concerned.
    struct Candidate {
        let segment: Segment
        let length: Int
        let liveLength: Int
        /// Whether a commit goes on from the file before into this one: they cannot be parted.
        let continuesCommit: Bool
        /// Whether the file was folded so recently that folding it again gains nothing.
        let isSettled: Bool

        var garbage: Int { length - liveLength }
        var isSmall: Bool { length < CompactionPlanner.smallLength }
    }

    /// Files below this are joined to their neighbors even where they hold no garbage.
    static let smallLength = 64 << 10
    /// So many small files in a row are worth joining.
    static let smallRunCount = 8
    /// A run without at least this much garbage in a hundred bytes is not worth writing again.
    static let worthwhilePercent = 10

    /// In order; all of them lie before the horizon.
    let candidates: [Candidate]
    let horizon: LogPosition
    let horizonCommit: CommitID
    /// The live bytes that one base file may take.
    let outputLimit: Int

    /// The run to fold when the directory holds too much garbage.
    func leastLiveRun() -> CompactionPlan? {
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
            // Shares are compared crosswise: no division, no empty file in the way.
            if candidate.liveLength * leader.length < leader.liveLength * candidate.length {
                best = index
            }
        }
        guard let best else { return nil }
        return plan(grow(best...best))
    }

    /// A run of small files to join, if there are many in a row.
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

    /// Everything before the horizon in runs as long as the output limit allows, with no regard
    /// to how much there is to gain.
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
            // A base file that stands alone was folded before: it is written again for its garbage.
            let isFolded = start == end && candidates[start].segment.header.kind == .base
            let hasGarbage =
                candidates[start].garbage * 100
                >= candidates[start].length * Self.worthwhilePercent
            if !isFolded || hasGarbage, let plan = plan(start...end) { plans.append(plan) }
            start = end + 1
        }
        return plans
    }

    /// Takes in neighbors that are mostly garbage, or so small that they come along for nothing.
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

    /// The run with all files that share a commit with one of its ends.
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
