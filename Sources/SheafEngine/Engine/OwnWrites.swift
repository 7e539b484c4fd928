import SheafBytes
package import SheafDocument
package import SheafStorage
import SheafSystem
import Synchronization

/// The periods in which the site of a store has written, according to its log.
///
/// ```
/// log ───── opened ─ ─ nothing ─ ─ first ───── now
/// ```
/// If a peer knows a write of the site from the gap, the store was restored to an older state
/// after that write.
package struct OwnWrites: Sendable {
    /// No write of the site in the log at opening is later than this time.
    package let opened: HybridTime
    /// No write since opening is earlier than this time; nil while there is none.
    package private(set) var first: HybridTime?
    /// The pauses between earlier openings.
    private let earlier: [WritePause]

    package init(opened: HybridTime, earlier: [WritePause] = []) {
        self.opened = opened
        self.earlier = earlier
    }

    /// The value for a site that was drawn after opening.
    package static var ofNewSite: OwnWrites {
        var writes = OwnWrites(opened: .initial)
        writes.first = .initial
        return writes
    }

    /// Whether the site was drawn since the opening, so that all its writes are known.
    package var isOfNewSite: Bool { opened == .initial && first == .initial }

    /// Records a commit; `time` is that of its first write, or later than all times seen.
    package mutating func recordCommit(_ time: HybridTime) {
        if first == nil { first = time }
    }

    /// Whether a write of the site at `time`, which a peer knows, is missing from the log.
    package func lacks(_ time: HybridTime) -> Bool {
        guard time != .initial else { return false }
        if time > opened, first.map({ time < $0 }) ?? true { return true }
        return earlier.contains { $0.contains(time) }
    }

    /// The periods without writes that a later write ended.
    package var endedPauses: [WritePause] { pauses(until: .initial) }

    /// Returns the periods without writes; without a write since opening, the last ends at `now`.
    package func pauses(until now: HybridTime) -> [WritePause] {
        var pauses = earlier
        if let pause = WritePause(after: opened, before: first ?? now) { pauses.add(pause) }
        return pauses
    }

    /// Returns when the pause that contains `time` began; a lost write may have any later stamp.
    package func end(before time: HybridTime) -> HybridTime {
        earlier.first { $0.contains(time) }?.after ?? opened
    }
}

/// The site that a store had before it drew another one and moved its writes.
package struct SiteMoveRecord: Sendable {
    package let site: Site
    package let pauses: [WritePause]
    /// The commit that moves the writes; nil until it is made.
    package var commit: CommitID?

    package init(site: Site, pauses: [WritePause], commit: CommitID? = nil) {
        (self.site, self.pauses, self.commit) = (site, pauses, commit)
    }

    /// Whether the documents of a durable commit may have writes that are not moved yet.
    package func precedes(_ durable: CommitID) -> Bool { commit.map { durable < $0 } ?? true }
}

/// The site of a store and its pauses, as they apply to the documents of a durable commit.
package struct SiteReport: Sendable {
    package let site: Site
    package let pauses: [WritePause]
    /// The commit that moved writes to the site; nil if none were moved.
    package let movedBy: CommitID?
}

extension DocumentEngine {
    /// The periods without writes of the site, according to the log.
    package var pauses: [WritePause] { state.withLock { pauses($0) } }

    package func pauses(_ state: WriterState) -> [WritePause] {
        let now = HybridTime(
            milliseconds: min(
                store.options.clock.wallMilliseconds(), HybridTime.maximumMilliseconds))
        return state.ownWrites.pauses(until: now)
    }

    /// Returns the site and the pauses that peers need for documents as of `commit`.
    ///
    /// Documents whose writes a later commit moves to a new site still cover lost writes, so
    /// the pauses of the old site apply to them.
    package func siteReport(through commit: CommitID) -> SiteReport {
        state.withLock { state in
            if let siteMove = state.siteMove, siteMove.precedes(commit) {
                return SiteReport(site: siteMove.site, pauses: siteMove.pauses, movedBy: nil)
            }
            return SiteReport(
                site: state.clock.site, pauses: state.ownWrites.endedPauses,
                movedBy: state.siteMove?.commit)
        }
    }

    /// Returns the time up to which writes of the site are unique; nil if all of them are.
    ///
    /// `lost` is the time of a write that a peer knows and the store lacks, or nil if another
    /// peer writes with the same site.
    package func uniqueThrough(_ lost: HybridTime?) -> HybridTime? {
        let pauses = pauses
        return state.withLock { state in
            guard !pauses.isEmpty else { return nil }
            guard let lost else { return state.ownWrites.opened }
            return pauses.first { $0.contains(lost) }?.after
        }
    }
}
