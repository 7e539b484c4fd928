import SheafBytes
package import SheafDocument
import SheafStorage
import Synchronization

/// When the site of a store has written, as far as its log knows.
///
/// ```
/// log ───── opened ─ ─ nothing ─ ─ first ───── now
/// ```
/// A write of the site in between, which a peer knows, was made by the store before it was put back to an older
/// state.
struct OwnWrites: Sendable {
    /// All writes of the site that the log had at the opening are not later.
    let opened: HybridTime
    /// All writes since are not earlier; none while there are none.
    private(set) var first: HybridTime?
    /// The pauses between earlier openings.
    private let earlier: [WritePause]

    init(opened: HybridTime, earlier: [WritePause] = []) {
        self.opened = opened
        self.earlier = earlier
    }

    /// For a site that was drawn since the opening.
    static var ofNewSite: OwnWrites {
        var writes = OwnWrites(opened: .initial)
        writes.first = .initial
        return writes
    }

    /// Whether the site was drawn since the opening, so that all its writes are known.
    var isOfNewSite: Bool { opened == .initial && first == .initial }

    /// Notes that a commit was made; `time` is that of its first write, or of the last that was seen.
    mutating func noteCommit(_ time: HybridTime) {
        if first == nil { first = time }
    }

    /// Whether the site has not written at a time, which a peer knows.
    func lack(_ time: HybridTime) -> Bool {
        guard time != .initial else { return false }
        if time > opened, first.map({ time < $0 }) ?? true { return true }
        return earlier.contains { $0.contains(time) }
    }

    /// The periods without writes that a write has ended.
    var endedPauses: [WritePause] { pauses(until: .initial) }

    /// Returns the periods without writes; that since the opening lasts until `now` where nothing was written.
    func pauses(until now: HybridTime) -> [WritePause] {
        var pauses = earlier
        if let pause = WritePause(after: opened, before: first ?? now) { pauses.add(pause) }
        return pauses
    }

    /// Returns the last write before a pause: stamps of later writes may have been used before.
    func end(before time: HybridTime) -> HybridTime {
        earlier.first { $0.contains(time) }?.after ?? opened
    }
}

/// The site that a store had before it drew another one and moved its writes.
struct SiteHandover: Sendable {
    let site: Site
    let pauses: [WritePause]
    /// The commit that moves the writes; nil until it is made.
    var commit: CommitID?

    /// Whether the state of a durable commit may contain documents whose writes are not moved.
    func precedes(_ durable: CommitID) -> Bool { commit.map { durable < $0 } ?? true }
}

/// The site of a store and its pauses, as they hold for the documents of a durable state.
struct SiteReport: Sendable {
    let site: Site
    let pauses: [WritePause]
    /// The commit that moved writes to the site; nil if none were moved.
    let movedBy: CommitID?
}

extension DocumentEngine {
    /// The periods in which the site has made no write, as far as the log knows.
    package var pauses: [WritePause] { state.withLock { pauses($0) } }

    func pauses(_ state: WriterState) -> [WritePause] {
        let now = HybridTime(
            milliseconds: min(
                store.options.clock.wallMilliseconds(), HybridTime.maximumMilliseconds))
        return state.ownWrites.pauses(until: now)
    }

    /// Returns the site and the pauses that peers need for documents of the state at `commit`.
    ///
    /// Documents whose writes a later commit moves to a new site still cover forgotten writes, so for these documents
    /// the pauses of the old site apply.
    func siteReport(through commit: CommitID) -> SiteReport {
        state.withLock { state in
            if let handover = state.handover, handover.precedes(commit) {
                return SiteReport(site: handover.site, pauses: handover.pauses, movedBy: nil)
            }
            return SiteReport(
                site: state.clock.site, pauses: state.ownWrites.endedPauses,
                movedBy: state.handover?.commit)
        }
    }

    /// Returns the time up to which writes of the site are unique, where a peer knows a write that the store does
    /// not have, or, with nil, where another peer writes with the same site; nil where neither can be true.
    func uniqueThrough(_ forgotten: HybridTime?) -> HybridTime? {
        let pauses = pauses
        return state.withLock { state in
            guard !pauses.isEmpty else { return nil }
            guard let forgotten else { return state.ownWrites.opened }
            return pauses.first { $0.contains(forgotten) }?.after
        }
    }
}
