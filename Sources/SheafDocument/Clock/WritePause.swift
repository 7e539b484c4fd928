/// A period in which a site made no write, between two of its writes.
///
/// The log of a store has one for each opening. A peer that knows a write of the site from within a pause shows
/// that the store was put back to an older state, or that a copy of the store writes with the same site.
package struct WritePause: Hashable, Sendable {
    /// The writes before the pause are not later.
    package let after: HybridTime
    /// The writes since the pause are not earlier.
    package let before: HybridTime

    /// Number of pauses that a store remembers; of more, the shortest are dropped.
    package static let maximumCount = 16

    /// Nil where no time lies between the two.
    package init?(after: HybridTime, before: HybridTime) {
        guard after < before, before.rawValue - after.rawValue > 1 else { return nil }
        (self.after, self.before) = (after, before)
    }

    package func contains(_ time: HybridTime) -> Bool { time > after && time < before }

    /// Shorter pauses come first; of two of one length, the earlier one.
    fileprivate var rank: (UInt64, HybridTime) { (before.rawValue - after.rawValue, after) }
}

extension [WritePause] {
    /// Appends a pause; where there is no room, the shortest is dropped.
    package mutating func add(_ pause: WritePause) {
        append(pause)
        guard count > WritePause.maximumCount else { return }
        if let shortest = indices.min(by: { self[$0].rank < self[$1].rank }) {
            remove(at: shortest)
        }
    }
}
